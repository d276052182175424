import { MpError } from "../errors.js";
import { autocast } from "../trace/autocast.js";
import { valueAndGrad } from "../trace/grad.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { cast } from "../trace/ops/elementwise.js";
import { fold } from "../trace/random.js";
import { isTensor, type Tensor } from "../trace/tensor.js";
import { withPhase } from "../trace/trace.js";
import { leavesOf } from "../tree.js";
import type { StepDefinition } from "./definition.js";
import type { LossContext, LossParts } from "./loss.js";
import type { TrainingState } from "./state.js";

/** What one pass over a batch gives, in f32; `gradients` are those of loss · scale. */
export interface ForwardBackward {
  readonly loss: Tensor;
  readonly metrics: Readonly<Record<string, Tensor>>;
  readonly model: TensorTree;
  readonly gradients: TensorTree;
}

/** The user's loss with its loose result made strict: scalar f32 loss and metrics, model state of unchanged types. */
export function strictLoss(
  definition: StepDefinition,
  state: TrainingState,
  model: TensorTree,
  training: boolean,
) {
  return (parameters: TensorTree, batch: TensorTree): readonly [Tensor, Omit<LossParts, "loss">] => {
    const context: LossContext<TensorTree> = {
      training,
      key: fold(definition.key, "loss"),
      modelState: model,
      step: state.applied,
    };
    const result = definition.loss(parameters, batch, context);
    const parts: LossParts = isTensor(result) ? { loss: result } : result;
    if (!isTensor(parts?.loss)) {
      throw new MpError("MP_INVALID_ARGUMENT", "loss: returns a Tensor or { loss, metrics?, modelState? }");
    }
    const metrics = Object.fromEntries(
      Object.entries(parts.metrics ?? {}).map(([name, metric]) => [name, scalar(`metric ${name}`, metric)]),
    );
    const next = parts.modelState === undefined ? model : sameTypes(model, parts.modelState);
    return [withPhase("loss", () => scalar("loss", parts.loss)), { metrics, modelState: next }];
  };
}

function scalar(what: string, tensor: Tensor): Tensor {
  if (!isTensor(tensor) || tensor.shape.length !== 0) {
    const got = isTensor(tensor) ? String(tensor) : typeof tensor;
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `${what}: is a scalar, got ${got}; reduce it, for example with reduceMean`,
    );
  }
  return cast(tensor, "f32");
}

function sameTypes(before: TensorTree, after: TensorTree): TensorTree {
  const paths = (tree: TensorTree): string =>
    leavesOf(tree, isTensor, "modelState")
      .map(([path, leaf]) => `${path} [${leaf.shape.join(", ")}]`)
      .join("; ");
  if (paths(before) !== paths(after)) {
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `modelState: the loss returns {${paths(after)}}, the trainer was given {${paths(before)}}; give the initial modelState to the trainer`,
    );
  }
  return mapTensors((old, next) => cast(next, old.dtype), before, after);
}

/** Loss and gradients of one microbatch under the casting policy. */
export function forwardBackward(
  definition: StepDefinition,
  state: TrainingState,
  model: TensorTree,
  batch: TensorTree,
  scale: Tensor,
): ForwardBackward {
  const { precision, manifest } = definition;
  const lossOf = autocast(strictLoss(definition, state, model, true), precision.policy, { manifest });
  const parameters = precision.masterWeights.parameters(state.master);
  const differentiated = valueAndGrad((weights: TensorTree) => lossOf(weights, batch), {
    hasAux: true,
    seed: scale,
  });
  const { value, gradients, aux } = differentiated(parameters);
  return {
    loss: value,
    metrics: aux.metrics ?? {},
    model: aux.modelState ?? model,
    gradients: mapTensors((gradient) => cast(gradient, "f32"), gradients),
  };
}
