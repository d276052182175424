import { type PointBatch, pointBatches } from "@mp/cli/training";
import { type HostTensor, tensor } from "@mp/core";
import { type Dataset, mapDataset } from "@mp/data";

/** The quickstart's points, with their labels one-hot, f32 [points, 2]. */
export function columnBatches(): Dataset<Record<"x" | "y", HostTensor<"f32">>> {
  return mapDataset(pointBatches(), ({ x, y }: PointBatch) => {
    const columns = Array.from(y.data, (label) => (label === 1 ? [0, 1] : [1, 0])).flat();
    return { x, y: tensor(Float32Array.from(columns), [y.data.length, 2]) };
  });
}
