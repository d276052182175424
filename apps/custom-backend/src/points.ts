import { type HostTensor, tensor } from "@mp/core";
import { type Dataset, indexedDataset } from "@mp/data";

/** The quickstart's points, with a column for each of the two classes: 1 in the correct one. */
export type PointBatch = {
  readonly x: HostTensor<"f32">;
  readonly y: HostTensor<"f32">;
};

const POINTS = 64;

function pointBatch(step: number): PointBatch {
  const points = Array.from(
    { length: POINTS },
    (_, i) => [Math.sin(7919 * (POINTS * step + i)), Math.cos(104729 * i)] as const,
  );
  const classes = points.flatMap(([a, b]) => (a * b > 0 ? [0, 1] : [1, 0]));
  return {
    x: tensor(Float32Array.from(points.flat()), [POINTS, 2]),
    y: tensor(Float32Array.from(classes), [POINTS, 2]),
  };
}

/** New points at every step, endlessly. */
export function pointBatches(): Dataset<PointBatch> {
  return indexedDataset({
    signature: `points of two classes, ${POINTS} a batch`,
    batchesPerEpoch: 1,
    epochs: Number.POSITIVE_INFINITY,
    batch: ({ epoch }) => pointBatch(epoch),
  });
}
