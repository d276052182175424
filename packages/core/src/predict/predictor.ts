import { isHostTensor, leavesOf, type TensorTree } from "@mp/graph";
import { checks, invalid, later, type OptionTable, readOptions, withDefault } from "@mp/graph/internal";
import { usablePrecision } from "../precision/check-precision.js";
import { mixed } from "../precision/presets.js";
import { backendPart, parametersPart } from "../train/batch/check-parts.js";
import { loadParameters } from "../train/checkpoint/load-parameters.js";
import type { PredictFunction } from "../train/definition/user-function.js";
import { printWarning } from "../train/objective/warnings.js";
import { PredictionRun } from "./prediction-run.js";
import type {
  Predictor,
  PredictorOptions,
  ServedFunction,
  ServedLayer,
  ServedStatefulLayer,
} from "./predictor-interface.js";

const OPTIONS = {
  backend: backendPart,
  model: checks.claim(
    "a layer, or a function of parameters and data",
    (given) => findApply(given) !== undefined,
  ),
  params: parametersPart,
  modelState: later,
  precision: withDefault(mixed(), later),
  checkpoint: later,
  weights: withDefault("current", checks.oneOf("current", "ema")),
  onWarning: withDefault(printWarning, checks.optional(checks.callback)),
} satisfies OptionTable<PredictorOptions<unknown, unknown, unknown>>;

const EXAMPLE = { example: "{ backend, model, params: await training.parameters() }" };

/**
 * Serves a model: keeps parameters and statistics on an engine, without optimizer and loss, and compiles the model once
 * for each set of shapes. It computes as `training.predict` does, with `training` false.
 * @example
 * ```ts
 * const serving = await predictor({ backend, model, params, modelState, precision: mixed() });
 * const logits = await serving.predict(tensor(pixels, [1, 3, 32, 32]));
 * ```
 * From a checkpoint: `{ backend, model, params: model.init(key(0)), checkpoint: "run.safetensors", weights: "ema" }`.
 * @throws MP_INVALID_ARGUMENT for options out of range, MP_NON_FINITE for parameters that are NaN or overflow in the
 *   half dtype, MP_UNSUPPORTED for a precision whose half dtype the backend does not support at all; for a checkpoint
 *   what `loadParameters` throws
 */
export function predictor<P, D, R extends TensorTree, M = Readonly<Record<never, never>>>(
  options: PredictorOptions<P, M, ServedFunction<P, D, R, M>>,
): Promise<Predictor<D, R>>;
/** Serves a layer with statistics, which it reads and does not update. */
export function predictor<P, D, R extends TensorTree, M>(
  options: PredictorOptions<P, M, ServedStatefulLayer<P, D, R, M>>,
): Promise<Predictor<D, R>>;
/** Serves a layer without statistics. */
export function predictor<P, D, R extends TensorTree, M = Readonly<Record<never, never>>>(
  options: PredictorOptions<P, M, ServedLayer<P, D, R, M>>,
): Promise<Predictor<D, R>>;
export async function predictor(options: object): Promise<never> {
  const given = options as PredictorOptions<unknown, unknown, unknown>;
  const read = readOptions("predictor", given, OPTIONS, EXAMPLE);
  const { backend, precision: choice, checkpoint, weights } = read;
  const precision = usablePrecision("predictor", choice, backend.manifest);
  if (read.modelState === undefined) expectNoStatistics(read.model);
  const trees = { params: read.params as object, modelState: read.modelState ?? {} };
  const run = await PredictionRun.start({
    backend,
    served: { model: findApply(read.model) as PredictFunction, precision, manifest: backend.manifest },
    ...(checkpoint === undefined ? trees : await loadParameters(checkpoint, trees, { weights })),
    onWarning: read.onWarning,
  });
  // The class knows no types of trees, so only the names of its methods can be checked here.
  return run satisfies Record<keyof Predictor<never, never>, unknown> as never;
}

/** Refuses a model with statistics if no model state was given. */
function expectNoStatistics(model: unknown): void {
  const { initState } = model as { readonly initState?: unknown };
  if (typeof initState !== "function") return;
  if (leavesOf(initState.call(model), isHostTensor, "modelState").length === 0) return;
  throw invalid(
    "predictor: the model has statistics; pass modelState: await training.modelState(), or with a checkpoint model.initState()",
  );
}

/** The function that calls the model; undefined if it is neither a layer nor a function. */
function findApply(model: unknown): PredictFunction | undefined {
  if (typeof model === "function") return model as PredictFunction;
  const { apply, initState } = (model ?? {}) as { readonly apply?: unknown; readonly initState?: unknown };
  if (typeof apply !== "function") return undefined;
  return (...given) => {
    const result = apply.apply(model, given) as TensorTree;
    return typeof initState === "function" ? ((result as readonly TensorTree[])[0] as TensorTree) : result;
  };
}
