import type { Backend, Graph, HostTensor, MapLeaves, Tensor, TensorTree } from "@mp/graph";
import type { Precision, PrecisionChoice } from "../precision/presets.js";
import type { Fed, LossContext, Traced } from "../train/definition/loss.js";
import type { TrainingWarning } from "../train/definition/warning.js";
import type { WeightsChoice } from "../train/weights/average.js";

/** A function of parameters, data and context, like the function that `training.predict` takes. */
export type ServedFunction<P, D, R, M> = (
  parameters: Traced<P>,
  data: D,
  context: LossContext<Traced<M>>,
) => R;

/** A layer that takes parameters, data and context. */
export interface ServedLayer<P, D, R, M> {
  apply(parameters: Traced<P>, data: D, context: LossContext<Traced<M>>): R;
}

/** A layer with statistics. Its result also has new statistics, which are dropped. */
export interface ServedStatefulLayer<P, D, R, M> extends ServedLayer<P, D, readonly [R, unknown], M> {
  initState(): M;
}

/** The model that `predictor` serves, its weights, and the engine. */
export interface PredictorOptions<P, M, Model> extends WeightsChoice {
  readonly backend: Backend;
  /** A layer, or a function of parameters, data and context. */
  readonly model: Model;
  /** Parameters as f32 host tensors, as `model.init` makes them. Only structure and shapes count with a checkpoint. */
  readonly params: P;
  /** `context.modelState`: running statistics. Only structure and shapes count with a checkpoint. */
  readonly modelState?: M;
  /**
   * The precision to compute in, default `mixed()`. If it computes in a half dtype, parameters of two axes or more are
   * kept only in that half dtype. Statistics and vectors, such as biases and the gains of normalizations, stay f32.
   */
  readonly precision?: PrecisionChoice;
  /** A training checkpoint, by path or as bytes, with the parameters and statistics to serve. */
  readonly checkpoint?: string | Uint8Array;
  /** Called once with each warning; default prints it to stderr. */
  readonly onWarning?: (warning: TrainingWarning) => void;
}

/** Parameters on an engine, and the compiled programs that read them. */
export interface Predictor<D, R extends TensorTree> {
  readonly precision: Precision;
  readonly warnings: readonly TrainingWarning[];
  /**
   * Computes the model's result for the data. Compiles once for each set of shapes, and keeps as many programs as a
   * trainer does. Arrays are copied at the call; calls that are not awaited run one after another.
   * @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH naming the data or the model's line;
   *   MP_UNSUPPORTED for a model that draws random numbers; MP_DISPOSED
   */
  predict(data: Fed<D>): Promise<MapLeaves<R, Tensor, HostTensor>>;
  /** The graph that the engine gets for data of these shapes and dtypes. @throws as `predict` */
  graph(data: Fed<D>): Graph;
  /** Peak bytes that the engine has held for this predictor; undefined if the engine does not report them. */
  peakBytes(): Promise<number | undefined>;
  /** Waits for pending calls, then frees everything. Idempotent; any other call after it throws MP_DISPOSED. */
  dispose(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
