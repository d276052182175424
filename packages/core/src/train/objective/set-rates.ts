import { type HostTensor, isHostTensor, mapTree, type State, tensor } from "@mp/graph";
import { invalid, isPlainObject, shown } from "@mp/graph/internal";
import { checkHyperparameter } from "../../optim/hyperparameter.js";
import { isSettable } from "../../optim/settable.js";
import type { RatesByGroup } from "../callbacks/callback.js";
import type { StepDefinition } from "../definition/definition.js";
import { ownSlot, withObjective } from "../definition/objective-state.js";
import type { TypeTree } from "../definition/traced-program.js";
import { readPart } from "./state-part.js";

/**
 * Checks the rates of a `setRates` call and returns them by slot.
 * @throws MP_INVALID_ARGUMENT for an unknown objective or group, one whose rate is not settable, or a rate that is
 * negative or not finite in f32
 */
export function expectRates(
  definitions: readonly StepDefinition[],
  rates: unknown,
): Readonly<Record<string, HostTensor>> {
  if (!isPlainObject(rates)) refuse(`takes rates by group, such as { default: 1e-4 }, got ${shown(rates)}`);
  const names = definitions[0]?.objective?.all;
  const unknown = names && Object.keys(rates).find((name) => !names.includes(name));
  if (unknown !== undefined) refuse(`there is no objective ${unknown}, only ${names?.join(", ")}`);
  const values = definitions.flatMap((definition) => {
    const own = definition.objective === undefined ? rates : (rates[definition.objective.name] ?? {});
    return Object.entries(own).map(([group, rate]) => {
      expectSettable(definition, group);
      checkHyperparameter(`setRates: ${withObjective(definition, group)}`, rate as number, { from: 0 });
      return [ownSlot(definition, "rates", group), tensor(Float32Array.of(rate as number), [])] as const;
    });
  });
  return Object.fromEntries(values);
}

/** The current settable rates by group; with objectives, by objective and group. */
export async function readRates(state: State, types: TypeTree): Promise<RatesByGroup> {
  const rates = await readPart(state, types, "rates");
  return mapTree(rates, isHostTensor, ({ data }) => Number(data[0])) as RatesByGroup;
}

function expectSettable(definition: StepDefinition, group: string): void {
  const { learningRates = {} } = definition.optimizer;
  if (Object.hasOwn(learningRates, group) && isSettable(learningRates[group])) return;
  const settable = Object.keys(learningRates).filter((name) => isSettable(learningRates[name]));
  const known = settable.length === 0 ? "none is" : `those are ${settable.join(", ")}`;
  refuse(
    `${withObjective(definition, group)} is no rate that can be set, ${known}; make it so: learningRate: settable(1e-3)`,
  );
}

function refuse(message: string): never {
  throw invalid(`setRates: ${message}`);
}
