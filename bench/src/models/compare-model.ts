// One exported model on one engine, beside what PyTorch made of it: its output, and the losses of fine-tuning.
import {
  type Backend,
  float32,
  type HostTensor,
  mixedFloat16,
  ops,
  type Precision,
  sgd,
  type Tensor,
  tensor,
  trainer,
} from "@mp/core";
import { softmaxCrossEntropy } from "@mp/nn";
import { fromOnnx, type TrainableModel } from "@mp/onnx";
import type { ExportedModel } from "./exported.js";

export interface ModelComparison {
  /** Nodes of a training step's graph. */
  readonly nodes: number;
  /** The largest difference of the output in evaluation mode. */
  readonly forward: number;
  /** The largest difference of a loss, by precision. */
  readonly losses: { readonly float32: number; readonly mixed_float16: number };
  /** From the file to the model. */
  readonly loadMs: number;
  /** Time of the first step, with its compilation. */
  readonly firstStepMs: number;
  /** The fastest of the later steps. */
  readonly stepMs: number;
}

type Batch = { readonly inputs: Readonly<Record<string, Tensor>>; readonly labels: Tensor };

export async function compareModel(backend: Backend, exported: ExportedModel): Promise<ModelComparison> {
  const began = performance.now();
  const model = await fromOnnx(exported.path);
  const loadMs = performance.now() - began;
  const plain = await fineTune(backend, exported, model, float32());
  const mixed = await fineTune(backend, exported, model, mixedFloat16());
  const [firstStepMs = NaN, ...laterMs] = plain.times;
  return {
    nodes: plain.nodes,
    forward: plain.forward,
    losses: { float32: plain.difference, mixed_float16: mixed.difference },
    loadMs,
    firstStepMs,
    stepMs: Math.min(...laterMs),
  };
}

interface Run {
  /** Time of each step, in milliseconds. */
  readonly times: readonly number[];
  readonly forward: number;
  /** The largest of a loss. */
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
    const began = performance.now();
    const { loss } = await training.step(batch);
    times.push(performance.now() - began);
    differences.push(Math.abs(loss - wanted));
  }
  const nodes = training.graph(batch).nodes.length;
  await training.dispose();
  return { times, forward: furthest(forward, logits), difference: Math.max(...differences), nodes };
}

/** PyTorch keeps the classes of pictures second. */
function classesLast(logits: Tensor, classAxis: number): Tensor {
  const rank = logits.shape.length;
  if (classAxis !== 1 || rank === 2) return logits;
  return ops.transpose(logits, [0, ...Array.from({ length: rank - 2 }, (_, axis) => axis + 2), 1]);
}

/** The largest difference; infinite for another shape. */
export function furthest(found: HostTensor, wanted: HostTensor): number {
  if (found.shape.join() !== wanted.shape.join()) return Number.POSITIVE_INFINITY;
  const [a, b] = [found.data as Float32Array, wanted.data as Float32Array];
  return a.reduce((most, value, index) => Math.max(most, Math.abs(value - (b[index] ?? NaN))), 0);
}

/** Its rows several times. */
export function repeated({ dtype, shape, data }: HostTensor, times: number): HostTensor {
  const all = Array.from({ length: times }, () => [
    ...(data as ArrayLike<number | bigint> & Iterable<number>),
  ]).flat();
  const [rows = 0, ...rest] = shape;
  const array = dtype === "i64" ? BigInt64Array.from(all as unknown as bigint[]) : Float32Array.from(all);
  return tensor(array as Float32Array, [times * rows, ...rest]);
}
