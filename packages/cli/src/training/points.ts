import { type HostTensor, tensor } from "@mp/core";
import { type Dataset, indexedDataset } from "@mp/data";

/** Points in the plane with their classes: class 1 if both coordinates have the same sign. */
export type PointBatch = {
  /** Shape [points, 2]. */
  readonly x: HostTensor<"f32">;
  /** Shape [points]. */
  readonly y: HostTensor<"i32">;
};

const POINTS = 64;

/** The batch with number `step`, as the first program of docs/install.md makes it. */
export function pointBatch(step: number): PointBatch {
  const points = Array.from(
    { length: POINTS },
    (_, i) => [Math.sin(7919 * (POINTS * step + i)), Math.cos(104729 * i)] as const,
  );
  return {
    x: tensor(Float32Array.from(points.flat()), [POINTS, 2]),
    y: tensor(Int32Array.from(points, ([a, b]) => Number(a * b > 0))),
  };
}

/** New points at every step, endlessly. */
export function pointBatches(): Dataset<PointBatch> {
  return indexedDataset({
    signature: `points, ${POINTS} a batch`,
    batchesPerEpoch: 1,
    epochs: Number.POSITIVE_INFINITY,
    batch: ({ epoch }) => pointBatch(epoch),
  });
}

/** Batches for evaluation that no run trains on. */
export function unseenPoints(): readonly PointBatch[] {
  return Array.from({ length: 16 }, (_, index) => pointBatch(2 ** 20 + index));
}
