import { type Backend, type HostTensor, isHostTensor, leavesOf, MpError } from "@mp/graph";
import { dtypeMismatch, invalid } from "@mp/graph/internal";
import { runOnce } from "../compile/compiled-programs.js";
import type { StepDefinition } from "../definition/definition.js";
import { isOwnSlot } from "../definition/objective-state.js";
import type { Outputs } from "../definition/outputs.js";
import { isValueType, type SlotGroupName, slotGroupName } from "../definition/state.js";
import { feedName, feedTree, hostTypes, type TypeTree } from "../definition/traced-program.js";
import { initProgram } from "../programs/step-programs.js";
import { frozenInAll } from "../weights/frozen.js";
import { nonFiniteProblem } from "../weights/non-finite.js";

/** Types of the parameters and the model state that a run was given. */
export interface GivenTypes {
  readonly parameters: TypeTree;
  readonly model: TypeTree;
}

export interface InitialState {
  readonly given: GivenTypes;
  readonly types: TypeTree;
  /** Tensors by slot. */
  readonly slots: Outputs;
}

/**
 * The initial state of a run: master weights, optimizer state, scaler and counters, made on the engine.
 * @throws MP_DTYPE_MISMATCH for trained parameters that are not f32, MP_INVALID_ARGUMENT for none at all, MP_NON_FINITE for
 * values from which every step would be skipped
 */
export async function initialState(
  backend: Backend,
  definitions: readonly StepDefinition[],
  given: { readonly parameters: unknown; readonly modelState: unknown },
  windowed: boolean,
): Promise<InitialState> {
  const leaves = leavesOf(given.parameters, isHostTensor, "params");
  if (leaves.length === 0) {
    const remedy =
      "pass those of a model, model.init(key(42)), or a tree such as { w: tensor(values, shape) }";
    throw invalid(`params: the tree holds no tensors; ${remedy}`);
  }
  const frozen = frozenInAll(definitions);
  for (const [path, leaf] of leaves) {
    if (leaf.dtype === "f32" || frozen.has(path)) continue;
    throw dtypeMismatch(
      `${place("params", path)}: parameters that are trained must be f32, got ${leaf.dtype}; only frozen ones may be of another dtype`,
    );
  }
  for (const [path, leaf] of leaves) {
    // A frozen mask may contain -∞. A trained parameter would stay infinite.
    const allowsInfinity = frozen.has(path);
    checkNumbers(place("params", path), leaf, { allowsInfinity, remedy: SKIPPED });
  }
  for (const [path, leaf] of leavesOf(given.modelState, isHostTensor, "modelState")) {
    checkNumbers(place("modelState", path), leaf, { allowsInfinity: true, remedy: SKIPPED });
  }
  const types = {
    parameters: hostTypes(given.parameters, "params"),
    model: hostTypes(given.modelState, "modelState"),
  };
  const values = { ...feedTree(given.parameters, "parameters"), ...feedTree(given.modelState, "model") };
  const { types: stateTypes, slots } = await makeState(backend, definitions, types, values, windowed);
  for (const [slot, value] of Object.entries(slots)) {
    const definition = definitions.find((each) => isOwnSlot(each, slot));
    const rule = definition && numberRule(slot, definition);
    if (rule !== undefined) checkNumbers(`initial state at ${slot}`, value, rule);
  }
  return { given: types, types: stateTypes, slots };
}

/** Makes the state of a new run from parameters (`parameters/…`) and model state (`model/…`), without checks. */
export async function makeState(
  backend: Backend,
  definitions: readonly StepDefinition[],
  types: GivenTypes,
  values: Outputs,
  windowed: boolean,
): Promise<Pick<InitialState, "types" | "slots">> {
  const program = initProgram(definitions, types.parameters, types.model, windowed);
  const made = await runOnce(backend, program, values);
  const stateTypes = program.outputs["state"] ?? {};
  const slots = leavesOf(stateTypes, isValueType, "state").map(
    ([slot]) => [slot, made[feedName("state", slot)] as HostTensor] as const,
  );
  return { types: stateTypes, slots: Object.fromEntries(slots) };
}

/** Root mean square of the parameters that are trained. */
export function rootMeanSquare(parameters: unknown, frozen: ReadonlySet<string>): number {
  let [sum, count] = [0, 0];
  for (const [path, { data }] of leavesOf(parameters, isHostTensor, "params")) {
    if (frozen.has(path)) continue;
    for (const number of data) sum += Number(number) ** 2;
    count += data.length;
  }
  return Math.sqrt(sum / Math.max(1, count));
}

const SKIPPED = "every step would be skipped; start from finite numbers";

interface NumberRule {
  /** Whether the slot may start at ∞ or -∞, as a running minimum does. */
  readonly allowsInfinity: boolean;
  readonly remedy: string;
}

/** The rule for a slot of the initial state; undefined if it is already checked, or need not be. */
function numberRule(
  slot: string,
  { precision, optimizer, checkNewParameters }: StepDefinition,
): NumberRule | undefined {
  const { masterWeights, lossScaler } = precision;
  const rules: Readonly<Partial<Record<SlotGroupName, NumberRule | undefined>>> = {
    master: {
      allowsInfinity: false,
      remedy: `master weights ${masterWeights.name} cannot hold the parameter; keep it in f32 or make it smaller`,
    },
    scaler: {
      allowsInfinity: true,
      remedy: `loss scaler ${lossScaler.name} starts from it; let its init give numbers`,
    },
    optimizer: checkNewParameters
      ? {
          allowsInfinity: true,
          remedy: `optimizer ${optimizer.name} starts from it; let its init give numbers, or turn checkNewParameters off`,
        }
      : undefined,
  };
  return rules[slotGroupName(slot)];
}

/** @throws MP_NON_FINITE naming the first element that breaks the rule */
function checkNumbers(what: string, tensor: HostTensor, { allowsInfinity, remedy }: NumberRule): void {
  const problem = nonFiniteProblem(what, tensor, allowsInfinity);
  if (problem !== undefined) throw new MpError("MP_NON_FINITE", `${problem}; ${remedy}`);
}

const place = (head: string, path: string): string => (path === "" ? head : `${head} at ${path}`);
