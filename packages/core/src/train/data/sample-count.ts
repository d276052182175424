import { formatShape, isHostTensor, MpError } from "@mp/graph";
import { shown } from "@mp/graph/internal";
import type { FlatBatch } from "../batch/batch.js";
import { type Outputs, weightIn } from "../definition/outputs.js";

/** Slot of the weights of padded batches, as `arrayDataset` of @mp/data names them. */
const WEIGHTS = "batch/weights";

/**
 * The number of samples in a batch: the sum of its `weights` [n] if present, otherwise the tensors' leading size.
 * @throws MP_INVALID_ARGUMENT for tensors that differ in the leading size
 */
export function sampleCount({ inputs }: FlatBatch): number {
  const sized = Object.entries(inputs).filter(([, { shape }]) => shape.length > 0);
  const [first] = sized;
  if (first === undefined) return 1;
  const [count = 1] = first[1].shape;
  const other = sized.find(([, { shape }]) => shape[0] !== count);
  if (other !== undefined) {
    const [one, two] = [first, other].map(([place, { shape }]) => `${place} ${formatShape(shape)}`);
    throw invalid(
      `the batch's tensors differ in their first dimension, ${one} and ${two}, so its samples are unknown; pass samples: (batch) => … that counts them`,
    );
  }
  const weights = inputs[WEIGHTS];
  if (weights === undefined || weights.dtype !== "f32" || weights.shape.length !== 1) return count;
  if (!isHostTensor(weights)) {
    throw invalid("batch/weights is not on the host; pass samples: (batch) => … that gives their sum");
  }
  const sum = (weights.data as Float32Array).reduce((total, weight) => total + weight, 0);
  if (sum >= 0 && Number.isFinite(sum)) return sum;
  throw invalid(
    `batch/weights count the samples, and their sum is ${sum}; weights are finite and at least 0`,
  );
}

/** The weight that the loss returned for a batch; undefined if it returns none. */
export function lossWeight(outputs: Outputs): number | undefined {
  const weight = weightIn(outputs);
  if (weight === undefined || (weight >= 0 && Number.isFinite(weight))) return weight;
  throw invalid(`the loss's weight must be finite and at least 0, got ${weight}`);
}

/** Counts the samples with the user's function. */
export function countBy(samples: (batch: never) => number, batch: unknown): number {
  const count: unknown = samples(batch as never);
  if (typeof count === "number" && count >= 0 && Number.isFinite(count)) return count;
  throw invalid(`samples gives a finite number ≥ 0, got ${shown(count)}`);
}

const invalid = (problem: string): MpError<"MP_INVALID_ARGUMENT"> =>
  new MpError("MP_INVALID_ARGUMENT", `evaluateAll: ${problem}`);
