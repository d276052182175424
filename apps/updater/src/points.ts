import { type HostTensor, tensor } from "@mp/core";
import { type Dataset, indexedDataset } from "@mp/data";

/** Points in the plane, and the class of each: 1 where its coordinates have the same sign. */
export type PointBatch = {
  /** [points, 2] */
  readonly x: HostTensor<"f32">;
  /** [points] */
  readonly y: HostTensor<"i32">;
};

export const POINTS = 64;

/** The batch with that number. */
export function pointBatch(index: number): PointBatch {
  const points = Array.from(
    { length: POINTS },
    (_, i) => [Math.sin(7919 * (POINTS * index + i)), Math.cos(104729 * i)] as const,
  );
  return {
    x: tensor(Float32Array.from(points.flat()), [POINTS, 2]),
    y: tensor(Int32Array.from(points, ([a, b]) => Number(a * b > 0))),
  };
}

/** New points in each batch, endlessly. */
export function pointBatches(): Dataset<PointBatch> {
  return indexedDataset({
    signature: `points, ${POINTS} a batch`,
    batchesPerEpoch: 1,
    epochs: Number.POSITIVE_INFINITY,
    batch: ({ epoch }) => pointBatch(epoch),
  });
}

/** A data feeder as NNabla has it: each call gives the next batch. */
export function pointFeeder(): () => PointBatch {
  let next = 0;
  return () => pointBatch(next++);
}
