import { type PointBatch, pointBatches } from "@mp/cli/training";
import { type HostTensor, tensor } from "@mp/core";
import { type Dataset, mapDataset } from "@mp/data";

/** The quickstart's points, labeled with a column for each of the two classes: 1 in the correct one. */
export function columnBatches(): Dataset<Record<"x" | "y", HostTensor<"f32">>> {
  return mapDataset(pointBatches(), ({ x, y }: PointBatch) => {
    const columns = Array.from(y.data, (label) => (label === 1 ? [0, 1] : [1, 0])).flat();
    return { x, y: tensor(Float32Array.from(columns), [y.data.length, 2]) };
  });
}
