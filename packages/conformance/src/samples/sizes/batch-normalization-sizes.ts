import type { HostTensor, Shape } from "@mp/core";
import type { OpOf } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import { sample } from "../op-sample.js";
import { balanced, natural, type SizeRows, whole } from "./size-row.js";

const ones = (shape: Shape): HostTensor => generated("f32", shape, () => 1);

export const batchNormalizationSizes: SizeRows<OpOf<"batch-normalization">> = {
  BatchNormalization: () => {
    const of = (shape: Shape, axis: number) => {
      const channels = [shape[1] ?? 1];
      return sample<"BatchNormalization">(
        { epsilon: 1e-5 },
        balanced(shape, axis),
        natural(channels),
        whole(channels),
      );
    };
    return [
      of([4_134, 17], 0),
      of([18, 4_134], 0),
      of([66_002, 2], 0),
      of([2, 3, 16_502], 2),
      of([2, 1_031, 40], 2),
    ];
  },
  BatchNormalizationGradient: () => {
    const of = (shape: Shape, axis: number) => {
      const channels = [shape[1] ?? 1];
      const x = balanced(shape, axis);
      return sample<"BatchNormalizationGradient">(
        { epsilon: 1e-5 },
        balanced(shape, axis),
        x,
        ones(channels),
        generated("f32", channels, () => 0),
        generated("f32", channels, () => 4),
      );
    };
    return [of([4_134, 17], 0), of([18, 4_134], 0), of([2, 3, 16_502], 2), of([2, 1_031, 40], 2)];
  },
};
