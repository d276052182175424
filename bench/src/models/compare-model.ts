// Compares an exported model on one engine with PyTorch: its output, and the losses of fine-tuning.
import {
  type Backend,
  float32,
  mixedFloat16,
  ops,
  type Precision,
  sgd,
  type Tensor,
  trainer,
} from "@mp/core";
import { softmaxCrossEntropy } from "@mp/nn";
import { fromOnnx, type TrainableModel } from "@mp/onnx";
import { time } from "../timing.js";
import type { ExportedModel } from "./exported.js";
import { furthest } from "./plain-session.js";

export interface ModelComparison {
  /** Nodes of a training step's graph. */
  readonly nodes: number;
  /** The largest difference of the output in evaluation mode. */
  readonly forward: number;
  /** The largest difference of a loss, by precision. */
  readonly losses: { readonly float32: number; readonly mixed_float16: number };
  /** Time from the file to the model. */
  readonly loadMs: number;
  /** Time of the first step, with its compilation. */
  readonly firstStepMs: number;
  /** The fastest of the later steps. */
  readonly stepMs: number;
}

type Batch = { readonly inputs: Readonly<Record<string, Tensor>>; readonly labels: Tensor };

export async function compareModel(backend: Backend, exported: ExportedModel): Promise<ModelComparison> {
  const loading: number[] = [];
  const model = await time(loading, () => fromOnnx(exported.path));
  const plain = await fineTune(backend, exported, model, float32());
  const mixed = await fineTune(backend, exported, model, mixedFloat16());
  const [firstStepMs = NaN, ...laterMs] = plain.times;
  return {
    nodes: plain.nodes,
    forward: plain.forward,
    losses: { float32: plain.difference, mixed_float16: mixed.difference },
    loadMs: loading[0] ?? NaN,
    firstStepMs,
    stepMs: Math.min(...laterMs),
  };
}

interface Run {
  /** Time of each step, in milliseconds. */
  readonly times: readonly number[];
  readonly forward: number;
  /** Largest difference of a loss. */
  readonly difference: number;
  readonly nodes: number;
}

async function fineTune(
  backend: Backend,
  { inputs, labels, logits, losses, learningRate, classAxis }: ExportedModel,
  model: TrainableModel,
  precision: Precision,
): Promise<Run> {
  const training = await trainer({
    backend,
    params: model.init(),
    modelState: model.initState(),
    loss: (params, batch: Batch, context) => {
      const [outputs, modelState] = model.apply(params, batch.inputs, context);
      const { logits: found, penalty } = outputs as { logits: Tensor; penalty?: Tensor };
      const entropy = softmaxCrossEntropy(classesLast(found, classAxis), batch.labels);
      return {
        loss: penalty === undefined ? entropy : ops.add(entropy, ops.reduceMean(penalty)),
        modelState,
      };
    },
    optimizer: sgd({ learningRate }),
    precision,
    // A step that is skipped for its scale would leave the losses a step behind.
    onOverflow: "retry",
    onWarning: () => undefined,
  });
  const batch = { inputs, labels };
  const forward = await training.predict(
    (params, given: Batch["inputs"], context) => model.apply(params, given, context)[0]["logits"] as Tensor,
    inputs,
  );
  const differences: number[] = [];
  const times: number[] = [];
  for (const wanted of losses) {
    const { loss } = await time(times, () => training.step(batch));
    differences.push(Math.abs(loss - wanted));
  }
  const nodes = training.graph(batch).nodes.length;
  await training.dispose();
  return { times, forward: furthest(forward, logits), difference: Math.max(...differences), nodes };
}

/** Moves classes to the last axis; for pictures, PyTorch has them on the second. */
function classesLast(logits: Tensor, classAxis: number): Tensor {
  const rank = logits.shape.length;
  if (classAxis !== 1 || rank === 2) return logits;
  return ops.transpose(logits, [0, ...Array.from({ length: rank - 2 }, (_, axis) => axis + 2), 1]);
}
