/** A predictor whose model keeps a state on the engine, such as a cache of keys and values; each call replaces it. */
import {
  type Backend,
  type HostTensor,
  isFloat,
  type MapLeaves,
  mapTensors,
  type Tensor,
  type TensorTree,
} from "@mp/graph";
import { checks, later, type OptionTable, readOptions, withDefault } from "@mp/graph/internal";
import { allFinite, cast } from "@mp/graph/ops";
import { usablePrecision } from "../precision/check-precision.js";
import { mixed, type PrecisionChoice } from "../precision/presets.js";
import { feedBatch } from "../train/batch/batch.js";
import { backendPart, checkFunction, parametersPart } from "../train/batch/check-parts.js";
import { CallQueue } from "../train/compile/call-queue.js";
import { CompiledPrograms, KEPT_PROGRAMS } from "../train/compile/compiled-programs.js";
import type { Fed, LossContext, Traced } from "../train/definition/loss.js";
import { outputTree, type Program, type TypeTree } from "../train/definition/traced-program.js";
import type { PredictFunction } from "../train/definition/user-function.js";
import type { TrainingWarning } from "../train/definition/warning.js";
import { eachOnce, printWarning } from "../train/objective/warnings.js";
import { keepWeights, MODEL } from "./kept-weights.js";
import { traceServed } from "./served-program.js";

export interface StatefulPredictorOptions<P, D, R extends TensorTree, S> {
  readonly backend: Backend;
  /**
   * Reads the state from `context.modelState` and returns the result and the next state, which has the structure and
   * shapes of the state; like the `apply` of a layer with statistics.
   */
  readonly model: (
    parameters: Traced<P>,
    data: D,
    context: LossContext<Traced<S>>,
  ) => readonly [result: R, state: Traced<S>];
  /** Parameters as host tensors. */
  readonly params: P;
  /** The first state, f32 tensors; the state stays f32 whatever the precision. */
  readonly modelState: S;
  /** The precision to compute in, as for `predictor`; default `mixed()`. */
  readonly precision?: PrecisionChoice;
  /** Number of compiled programs that are kept, one for each set of shapes; default 8. */
  readonly programs?: number;
  /** The name that messages begin with; default `statefulPredictor`. */
  readonly name?: string;
  /** Called once with each warning; default prints it to stderr. */
  readonly onWarning?: (warning: TrainingWarning) => void;
}

/** Parameters and a state on an engine, and the compiled programs that read and replace it. */
export interface StatefulPredictor<D, R extends TensorTree> {
  /**
   * Computes the result, with floats in f32, and replaces the state. If a number of the result is not finite,
   * `applied` is false and the state stays as it was. Calls that are not awaited run one after another.
   * @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH naming the data or the model's line;
   *   MP_DISPOSED
   */
  predict(
    data: Fed<D>,
  ): Promise<{ readonly result: MapLeaves<R, Tensor, HostTensor>; readonly applied: boolean }>;
  /** Waits for pending calls, then frees everything. Idempotent; any other call after it throws MP_DISPOSED. */
  dispose(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const OPTIONS = {
  backend: backendPart,
  model: checkFunction,
  params: parametersPart,
  modelState: later,
  precision: withDefault(mixed(), later),
  programs: withDefault(KEPT_PROGRAMS, checks.count),
  name: withDefault("statefulPredictor", checks.text),
  onWarning: withDefault(printWarning, checks.optional(checks.callback)),
} satisfies OptionTable<StatefulPredictorOptions<unknown, unknown, TensorTree, unknown>>;

/**
 * Serves a model that keeps a state between calls, such as a cache of keys and values. The model is compiled once for
 * each set of shapes of the data.
 * @example
 * ```ts
 * const model = ({ rate }, x, { modelState: { sum } }) => [ops.mul(sum, rate), { sum: ops.add(sum, x) }];
 * const running = await statefulPredictor({ backend, model, params, modelState: { sum: zeros([]) } });
 * const { result } = await running.predict(tensor(Float32Array.of(3), []));
 * ```
 * @throws as `predictor`, for options, parameters and precision
 */
export async function statefulPredictor<P, D, R extends TensorTree, S>(
  options: StatefulPredictorOptions<P, D, R, S>,
): Promise<StatefulPredictor<D, R>> {
  const owner = options?.name ?? "statefulPredictor";
  const read = readOptions(owner, options, OPTIONS, { example: "{ backend, model, params, modelState }" });
  const { backend, params, modelState } = read;
  const precision = usablePrecision(owner, read.precision, backend.manifest);
  const warn = eachOnce(read.onWarning, []);
  // Warns before the state is created, which would have to be freed if `onWarning` throws.
  for (const warning of precision.warnings ?? []) warn(warning);
  const { types, slots } = await keepWeights(backend, precision, { params, modelState });
  const programs = new CompiledPrograms(backend, await backend.createState(slots), read.programs, warn);
  const calls = new CallQueue(owner);

  const model = read.model as unknown as PredictFunction;
  const served = { model, precision, manifest: backend.manifest };
  const program = (data: TypeTree): Program =>
    traceServed(served, types, data, (given) => {
      const [own, after] = given as readonly [TensorTree, TensorTree];
      const result = mapTensors(inF32, own);
      return {
        state: { [MODEL]: mapTensors(inF32, after) },
        outputs: { result, applied: allFinite(result) },
      };
    });
  const dispose = (): Promise<void> => calls.close(() => programs.dispose());
  return {
    async predict(data) {
      calls.expectOpen();
      const feed = feedBatch(data, "data", programs.adopt);
      return calls.add(async () => {
        // The cache warns of many shapes of one kind. Here many are expected, so each has its own kind.
        const kind = `predict ${feed.signature}`;
        const { executable, outputs } = await programs.findOrCompile(kind, "", () => program(feed.types()));
        const values = await executable.run(feed.inputs);
        const result = outputTree(outputs["result"], "result", values) as never;
        return { result, applied: values["applied"]?.data[0] !== 0 };
      });
    },
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}

const inF32 = (leaf: Tensor): Tensor =>
  isFloat(leaf.dtype) && leaf.dtype !== "f32" ? cast(leaf, "f32") : leaf;
