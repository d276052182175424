import { type BackendManifest, key, MpError, randomNodeIn, type TensorTree } from "@mp/graph";
import { invalid } from "@mp/graph/internal";
import { literal } from "@mp/graph/ops";
import type { Precision } from "../precision/presets.js";
import { type Program, type TypeTree, traceProgram } from "../train/definition/traced-program.js";
import { type PredictFunction, underPolicy } from "../train/definition/user-function.js";
import { type KeptWeights, MODEL, WEIGHTS } from "./kept-weights.js";

/** Everything besides shapes that decides the program of a predictor. */
export interface Served {
  readonly model: PredictFunction;
  readonly precision: Precision;
  readonly manifest: BackendManifest;
}

/** Traces the model over its kept weights; `finish` makes the program's results from the model's results. */
export function traceServed(
  { model, precision, manifest }: Served,
  types: KeptWeights["types"],
  data: TypeTree,
  finish: (given: TensorTree) => ReturnType<Parameters<typeof traceProgram>[1]>,
): Program {
  return traceProgram({ state: types, fed: { data } }, (state, fed) => {
    const { [WEIGHTS]: weights, [MODEL]: modelState } = state as Record<keyof typeof types, TensorTree>;
    const context = { training: false, key: key(0), modelState, step: literal(0, "i32") };
    const run = underPolicy(model, "the data", context, { precision, manifest });
    return finish(run(weights, fed["data"] as TensorTree));
  });
}

/**
 * Traces the model of a predictor.
 * @throws MP_INVALID_ARGUMENT for a model that returns nothing; MP_UNSUPPORTED for one that draws random numbers
 */
export function serveProgram(served: Served, types: KeptWeights["types"], data: TypeTree): Program {
  const program = traceServed(served, types, data, (result) => ({ outputs: { result } }));
  if (program.graph.outputs.length === 0) throw invalid("predictor: the model gives no tensor");
  const drawn = randomNodeIn(program.graph);
  if (drawn === undefined) return program;
  throw new MpError(
    "MP_UNSUPPORTED",
    `predictor: node ${drawn} draws random numbers, which would be the same at every call; leave out what draws, or pass the numbers with the data`,
    { details: { node: drawn } },
  );
}
