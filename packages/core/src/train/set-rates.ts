import { MpError } from "../errors.js";
import { type HostTensor, tensor } from "../host-tensor.js";
import { checkHyperparameter } from "../optim/hyperparameter.js";
import { isSettable } from "../optim/settable.js";
import { isPlainObject } from "../plain-object.js";
import { shown } from "../shown.js";
import type { StepDefinition } from "./definition.js";
import { named, ownSlot } from "./objectives/objective-state.js";

/**
 * The values of the slots of the rates that are set.
 * @throws MP_INVALID_ARGUMENT for an unknown group, or one whose rate is not settable; a rate that is negative or
 * not finite in f32
 */
export function ratesToSet(
  definitions: readonly StepDefinition[],
  rates: unknown,
): Readonly<Record<string, HostTensor>> {
  if (!isPlainObject(rates))
    refuse(`setRates: takes rates by group, such as { default: 1e-4 }, got ${shown(rates)}`);
  const [{ objective }] = definitions as readonly [StepDefinition];
  const values: [string, HostTensor][] = [];
  for (const definition of definitions) {
    const own = definition.objective === undefined ? rates : (rates[definition.objective.name] ?? {});
    for (const [group, rate] of Object.entries(own)) {
      expectSettable(definition, group);
      checkHyperparameter(`setRates: ${named(definition, group)}`, rate as number, { from: 0 });
      values.push([ownSlot(definition, "rates", group), tensor(Float32Array.of(rate as number), [])]);
    }
  }
  const unknown = Object.keys(objective === undefined ? {} : rates).find(
    (name) => !objective?.all.includes(name),
  );
  if (unknown !== undefined)
    refuse(`setRates: there is no objective ${unknown}, only ${objective?.all.join(", ")}`);
  return Object.fromEntries(values);
}

function expectSettable(definition: StepDefinition, group: string): void {
  const { learningRates = {} } = definition.optimizer;
  if (Object.hasOwn(learningRates, group) && isSettable(learningRates[group])) return;
  const settable = Object.keys(learningRates).filter((name) => isSettable(learningRates[name]));
  const known = settable.length === 0 ? "none is" : `those are ${settable.join(", ")}`;
  refuse(
    `setRates: ${named(definition, group)} is no rate that can be set, ${known}; make it so: learningRate: settable(1e-3)`,
  );
}

function refuse(message: string): never {
  throw new MpError("MP_INVALID_ARGUMENT", message);
}
