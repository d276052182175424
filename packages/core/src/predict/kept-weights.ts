import {
  type Backend,
  type HostTensor,
  isHostTensor,
  leavesOf,
  MpError,
  mapTensors,
  type TensorTree,
} from "@mp/graph";
import { cast } from "@mp/graph/ops";
import { lowDType } from "../cast/policy.js";
import type { Precision } from "../precision/presets.js";
import { runOnce } from "../train/compile/compiled-programs.js";
import type { Outputs } from "../train/definition/outputs.js";
import { isValueType } from "../train/definition/state.js";
import {
  feedName,
  feedTree,
  hostTypes,
  type TypeTree,
  traceProgram,
} from "../train/definition/traced-program.js";
import { storeUntrained } from "../train/weights/frozen.js";
import { nonFiniteProblem } from "../train/weights/non-finite.js";

/** The name of the weights in a predictor's state. Like a trainer's `frozen` parameters, no program writes them. */
export const WEIGHTS = "frozen";
/** The name of the model state in a predictor's state. */
export const MODEL = "model";

/** The tensors that a predictor holds on the engine. */
export interface KeptWeights {
  readonly types: { readonly [WEIGHTS]: TypeTree; readonly [MODEL]: TypeTree };
  /** Tensors by slot. */
  readonly slots: Outputs;
}

/** Parameters with at least this many axes are kept in the half dtype; others take hardly any memory. */
const LEAST_AXES = 2;

/**
 * Stores parameters as the precision keeps them, or as given if they are not f32; model state stays unchanged.
 * @throws MP_NON_FINITE for NaN, and for finite values that overflow in the half dtype
 */
export async function keepWeights(
  backend: Backend,
  precision: Precision,
  given: { readonly params: unknown; readonly modelState: unknown },
): Promise<KeptWeights> {
  const leaves = leavesOf(given.params, isHostTensor, "params");
  for (const [path, leaf] of leaves) {
    expectNumbers(nonFiniteProblem(`params at ${path}`, leaf, true));
  }
  const model = feedTree(given.modelState, MODEL);
  const weights = feedTree(given.params, WEIGHTS);
  const { outputs, ...program } = traceProgram({ fed: { [WEIGHTS]: hostTypes(given.params) } }, (_, fed) => ({
    outputs: { [WEIGHTS]: inStorage(precision, fed[WEIGHTS] as TensorTree) },
  }));
  const types = { [WEIGHTS]: outputs[WEIGHTS] ?? {}, [MODEL]: hostTypes(given.modelState) };
  const stored = new Map(leavesOf(types[WEIGHTS], isValueType, "params"));
  // If no dtype changes, no program runs and the parameters are not copied.
  if (leaves.every(([path, { dtype }]) => stored.get(path)?.dtype === dtype))
    return { types, slots: { ...weights, ...model } };
  const made = await runOnce(backend, { outputs, ...program }, weights);
  for (const [path, leaf] of leaves) {
    const kept = made[feedName(WEIGHTS, path)] as HostTensor;
    if (kept.dtype === leaf.dtype || nonFiniteProblem(path, leaf) !== undefined) continue;
    expectNumbers(
      nonFiniteProblem(`params at ${path}, kept in ${kept.dtype},`, kept),
      `${precision.name} does not hold them; use a wider precision`,
    );
  }
  return { types, slots: { ...made, ...model } };
}

/** Parameters as the trainer stores them, except that f32 parameters of several axes are in the policy's half dtype. */
function inStorage({ masterWeights, policy }: Precision, params: TensorTree): TensorTree {
  const low = lowDType(policy);
  return mapTensors(
    (weight) =>
      low !== undefined && weight.dtype === "f32" && weight.shape.length >= LEAST_AXES
        ? cast(weight, low)
        : weight,
    storeUntrained(params, masterWeights),
  );
}

function expectNumbers(problem: string | undefined, remedy = "load the weights of an earlier step"): void {
  if (problem !== undefined) throw new MpError("MP_NON_FINITE", `predictor: ${problem}; ${remedy}`);
}
