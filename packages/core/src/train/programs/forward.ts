import {
  foldIn,
  formatType,
  isComputeFloat,
  isTensor,
  type Key,
  leavesOf,
  type MpError,
  mapTensors,
  type Tensor,
  type TensorTree,
  valueAndGrad,
} from "@mp/graph";
import {
  atUserLines,
  dtypeMismatch,
  invalid,
  keyProblem,
  notePaths,
  shapeMismatch,
  withPhase,
} from "@mp/graph/internal";
import { cast, greaterOrEqual, where } from "@mp/graph/ops";
import { autocast } from "../../cast/autocast.js";
import type { CastReport } from "../../cast/explain.js";
import { zerosLike } from "../../optim/optimizer.js";
import { recipeAt } from "../../quantize/recipes-by-step.js";
import { pairEncodes, scaleIn } from "../../quantize/scaling-state.js";
import type { StepDefinition } from "../definition/definition.js";
import type { LossContext, LossParts } from "../definition/loss.js";
import { tellingNames } from "../definition/missing-name.js";
import { ownKey } from "../definition/objective-state.js";
import type { TrainingState } from "../definition/state.js";
import type { TrainingWarning } from "../definition/warning.js";
import { mergeFrozen } from "../weights/frozen.js";
import { warningOfUnreached } from "./unreached.js";
import { hasUnevenMean, unevenMeans } from "./warn-of-uneven-means.js";
import { lossesIn } from "./window.js";

/** The results of one pass over a batch, f32; `gradients` are of loss · scale. */
export interface ForwardBackward {
  readonly loss: Tensor;
  /** Weight of the loss, NaN if it is below 0; undefined if the loss returns none. */
  readonly weight: Tensor | undefined;
  readonly metrics: Readonly<Record<string, Tensor>>;
  readonly model: TensorTree;
  readonly gradients: TensorTree;
  /** Largest magnitudes of each parameter's products, f32 [3], for delayed scaling; empty without it. */
  readonly amax: TensorTree;
}

/** All parameters that the loss gets, trained or frozen, in their storage dtypes. */
export function selectParameters({ precision, frozen }: StepDefinition, state: TrainingState): TensorTree {
  const trained = precision.masterWeights.parameters(state.master);
  return frozen.size === 0 ? trained : mergeFrozen(trained, state.frozen);
}

/** The user's loss with a checked result: scalar f32 loss and metrics, model state of unchanged types. */
export function strictLoss(
  definition: StepDefinition,
  state: TrainingState,
  model: TensorTree,
  training: boolean,
  warn?: (warning: TrainingWarning) => void,
) {
  return (parameters: TensorTree, batch: TensorTree): readonly [Tensor, Omit<LossParts, "loss">] => {
    const context: LossContext<TensorTree> = {
      training,
      key: lossKey(definition),
      modelState: model,
      step: state.applied,
    };
    notePaths(parameters);
    const call = (): unknown => atUserLines(() => definition.loss(parameters, batch, context));
    const parts = readParts(tellingNames("the batch", batch, call));
    const metrics = Object.fromEntries(
      Object.entries(parts.metrics ?? {}).map(([name, metric]) => [
        name,
        scalar(`the metric ${name}`, metric),
      ]),
    );
    if (parts.modelState === undefined && leavesOf(model, isTensor, "modelState").length > 0) {
      warn?.(stateNotReturned);
    }
    const next = parts.modelState === undefined ? model : sameTypes(model, parts.modelState);
    const weight = readWeight(definition, parts);
    if (weight === undefined && warn !== undefined && definition.accumulation === "mean") {
      const losses = lossesIn(definition);
      if (losses > 1 && hasUnevenMean(parts.loss)) warn(unevenMeans(losses));
    }
    if (!isComputeFloat(parts.loss.dtype)) {
      throw dtypeMismatch(
        `the loss must be a float, got ${formatType(parts.loss)}; a count or a comparison has no gradient`,
      );
    }
    return [
      withPhase("loss", () => scalar("the loss", parts.loss)),
      { ...(weight === undefined ? {} : { weight }), metrics, modelState: next },
    ];
  };
}

/** The weight of the loss, f32. @throws MP_INVALID_ARGUMENT with accumulation `sum` */
function readWeight({ accumulation }: StepDefinition, { weight }: LossParts): Tensor | undefined {
  if (weight === undefined || accumulation === "mean")
    return weight && withPhase("loss", () => scalar("the loss's weight", weight));
  throw invalid(
    'loss: must not return a weight with accumulation: "sum", as in an updater: it adds gradients and forms no mean; leave one of them out',
  );
}

/** The key of the loss's random numbers, different on each rank; the update's is equal, so that weights stay equal. */
function lossKey(definition: StepDefinition): Key {
  const own = foldIn(ownKey(definition), "loss");
  return definition.rank === undefined ? own : foldIn(own, definition.rank.rank);
}

const stateNotReturned: TrainingWarning = {
  type: "state",
  message:
    "loss: returns no modelState, so the one that the trainer was given never changes; return { loss, modelState }, or pass constants in as parameters that are frozen",
};

function readParts(result: unknown): LossParts {
  if (isTensor(result)) return { loss: result };
  if (result instanceof Promise) {
    result.catch(() => undefined);
    throw wrongLoss("it is async; a loss is traced once and is synchronous");
  }
  if (typeof result !== "object" || result === null) throw wrongLoss(`got ${String(result)}`);
  const { loss, metrics = {} } = result as { readonly loss?: unknown; readonly metrics?: unknown };
  if (!isTensor(loss)) throw wrongLoss(`got an object with ${Object.keys(result).join(", ") || "nothing"}`);
  if (typeof metrics !== "object" || metrics === null || isTensor(metrics)) {
    throw wrongLoss("metrics are scalars by name");
  }
  for (const name of Object.keys(metrics)) {
    const problem = keyProblem(name);
    if (problem !== undefined) throw wrongLoss(`and the metric's name ${JSON.stringify(name)} ${problem}`);
  }
  return result as LossParts;
}

function wrongLoss(problem: string): MpError<"MP_INVALID_ARGUMENT"> {
  return invalid(`the loss must return a Tensor or { loss, weight?, metrics?, modelState? }, ${problem}`);
}

function scalar(what: string, tensor: Tensor): Tensor {
  if (!isTensor(tensor) || tensor.shape.length !== 0) {
    const got = isTensor(tensor) ? `${formatType(tensor)}; take its mean` : typeof tensor;
    throw shapeMismatch(`${what} must be a scalar, got ${got}`);
  }
  return cast(tensor, "f32");
}

function sameTypes(before: TensorTree, after: TensorTree): TensorTree {
  const paths = (tree: TensorTree): string =>
    leavesOf(tree, isTensor, "modelState")
      .map(([path, leaf]) => `${path} [${leaf.shape.join(", ")}]`)
      .join("; ");
  if (paths(before) !== paths(after)) {
    throw shapeMismatch(
      `modelState: the loss returns {${paths(after)}}, the trainer was given {${paths(before)}}; give the initial modelState to the trainer`,
    );
  }
  return mapTensors((old, next) => cast(next, old.dtype), before, after);
}

/** The inputs of a pass over one microbatch. */
export interface MicrobatchInputs {
  readonly model: TensorTree;
  readonly batch: TensorTree;
  readonly scale: Tensor;
  readonly reports?: TraceReports | undefined;
}

/** Callbacks for findings while the loss is traced. */
export interface TraceReports {
  readonly casts?: (report: CastReport) => void;
  readonly warning?: (warning: TrainingWarning) => void;
}

/**
 * Loss and gradients of one microbatch under the casting policy.
 * @throws MP_NOT_DIFFERENTIABLE for a loss without a gradient to any trained parameter
 */
export function forwardBackward(
  definition: StepDefinition,
  state: TrainingState,
  { model, batch, scale, reports = {} }: MicrobatchInputs,
): ForwardBackward {
  const { precision, manifest } = definition;
  const recipe = recipeAt(precision.recipe, 0);
  const options = {
    manifest,
    recipe,
    key: foldIn(lossKey(definition), "recipe"),
    ...(reports.casts === undefined ? {} : { report: reports.casts }),
  };
  const loss = strictLoss(definition, state, model, true, reports.warning);
  const weightsWith = (trained: TensorTree): TensorTree =>
    definition.frozen.size === 0 ? trained : mergeFrozen(trained, state.frozen);
  const differentiated = valueAndGrad(
    ({ trained, encodes: tree }: { readonly trained: TensorTree; readonly encodes: TensorTree }) => {
      const parameters = weightsWith(trained);
      const encodes = pairEncodes(tree, parameters);
      return autocast(loss, precision.policy, { ...options, encodes })(parameters, batch);
    },
    {
      hasAux: true,
      seed: scale,
      maximumOf: "encodes",
      onUnreached: ({ paths, ...unreached }) => {
        const own = paths.map((path) => path.replace(/^trained\/?/, ""));
        reports.warning?.(warningOfUnreached({ ...unreached, paths: own }));
      },
    },
  );
  const made = differentiated({
    trained: precision.masterWeights.parameters(state.master),
    encodes: recipe?.scaling === undefined ? {} : scaleIn(state.recipe),
  });
  const { value, gradients, aux } = made;
  const { weight } = aux;
  return {
    loss: value,
    // Outside of the policy, whose half dtype may not hold the number.
    weight: weight && withPhase("loss", () => where(greaterOrEqual(weight, 0), weight, Number.NaN)),
    metrics: aux.metrics ?? {},
    model: aux.modelState ?? model,
    gradients: mapTensors((gradient) => cast(gradient, "f32"), gradients.trained),
    // A phase without delayed scaling sees no magnitudes.
    amax: recipe?.scaling === undefined ? zerosLike(scaleIn(state.recipe)) : gradients.encodes,
  };
}
