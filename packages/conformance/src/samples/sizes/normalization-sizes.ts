import type { HostTensor, Shape } from "@mp/core";
import type { OpOf, SoftmaxOp } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import { sample } from "../op-sample.js";
import { balanced, LONG, natural, ROWS, type SizeRow, type SizeRows, TALL, WIDE, whole } from "./size-row.js";

/** Generates numbers whose exponentials are 1 and 0, so that every sum of them is exact. */
const onesAndZeros = (shape: Shape): HostTensor => generated("f32", shape, (at) => (at % 5 < 2 ? 0 : -200));

function alongAxis<K extends SoftmaxOp>(): SizeRow<K> {
  const of = (axis: number, shape: Shape) => sample<"Softmax">({ axis }, onesAndZeros(shape));
  const samples = () => [of(0, LONG), of(0, TALL), of(1, TALL), of(1, WIDE), of(1, ROWS)];
  return samples as unknown as SizeRow<K>;
}

export const normalizationSizes: SizeRows<OpOf<"normalization">> = {
  Softmax: alongAxis(),
  LogSoftmax: alongAxis(),
  LayerNormalization: () => {
    const of = (shape: Shape, part: Shape) =>
      sample<"LayerNormalization">(
        { axis: 1, epsilon: 1e-5 },
        balanced(shape, 1),
        natural(part),
        whole(part),
      );
    return [of(TALL, [18]), of(WIDE, [4_134]), of(ROWS, [2]), of([2, 33_002], [33_002])];
  },
  RMSNormalization: () => {
    const of = (shape: Shape, part: Shape) =>
      sample<"RMSNormalization">({ axis: 1, epsilon: 1e-5 }, natural(shape), natural(part));
    return [of(TALL, [18]), of(WIDE, [4_134]), of(ROWS, [2]), of([2, 33_002], [33_002])];
  },
};
