import { type HostTensor, type Shape, tensor } from "@mp/core";
import type { OpOf } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import { exact, sample } from "../op-sample.js";
import { counting, LONG, type SizeRows, TALL, WIDE, whole } from "./size-row.js";

/** Unordered indices below `size`, including negative ones. */
const indices = (shape: Shape, size: number): HostTensor =>
  generated("i32", shape, (at) => ((at * 7_919 + 5) % size) - (at % 3 === 0 ? size : 0));

/** Every index below `size` once: each update has its own place, so their order does not matter. */
const permutation = (size: number): HostTensor => generated("i32", [size], (at) => (at * 7_919) % size);

export const indexingSizes: SizeRows<OpOf<"indexing">> = {
  Gather: () => [
    sample<"Gather">({ axis: 0 }, counting(LONG), indices([70_003], 66_002)),
    sample<"Gather">({ axis: 0 }, counting(TALL), indices([4_200], 4_133)),
    sample<"Gather">({ axis: 1 }, counting(WIDE), indices([4_200], 4_134)),
    sample<"Gather">({ axis: 0 }, counting([7, 3]), indices([66_002], 7)),
  ],
  GatherElements: () => [
    sample<"GatherElements">({ axis: 0 }, counting(LONG), indices([70_003], 66_002)),
    sample<"GatherElements">({ axis: 0 }, counting(TALL), indices([4_133, 17], 4_133)),
    sample<"GatherElements">({ axis: 1 }, counting(WIDE), indices([17, 4_200], 4_134)),
  ],
  GatherND: () => [
    sample<"GatherND">({ batchDims: 0 }, counting(TALL), indices([4_200, 1], 4_133)),
    sample<"GatherND">({ batchDims: 0 }, counting(LONG), indices([70_003, 1], 66_002)),
    sample<"GatherND">({ batchDims: 1 }, counting(TALL), indices([4_133, 1], 18)),
  ],
  ScatterElements: () => [
    sample<"ScatterElements">(
      { axis: 0, reduction: "none" },
      whole(LONG),
      permutation(66_002),
      counting(LONG),
    ),
    exact<"ScatterElements">(
      { axis: 0, reduction: "add" },
      whole(LONG),
      indices([70_003], 66_002),
      whole([70_003]),
    ),
    exact<"ScatterElements">(
      { axis: 0, reduction: "add" },
      whole([7]),
      indices([70_003], 7),
      whole([70_003]),
    ),
    exact<"ScatterElements">(
      { axis: 1, reduction: "add" },
      whole(TALL),
      indices([4_133, 20], 18),
      whole([4_133, 20]),
    ),
    exact<"ScatterElements">(
      { axis: 1, reduction: "max" },
      whole(WIDE),
      indices([18, 4_200], 4_134),
      counting([18, 4_200]),
    ),
  ],
  ScatterND: () => [
    sample<"ScatterND">(
      { reduction: "none" },
      whole(TALL),
      tensor(permutation(4_133).data as Int32Array, [4_133, 1]),
      counting(TALL),
    ),
    exact<"ScatterND">({ reduction: "add" }, whole(TALL), indices([4_200, 1], 4_133), whole([4_200, 18])),
    exact<"ScatterND">({ reduction: "add" }, whole([5, 3]), indices([66_002, 1], 5), whole([66_002, 3])),
    exact<"ScatterND">({ reduction: "add" }, whole(LONG), indices([70_003, 1], 66_002), whole([70_003])),
  ],
  OneHot: () => [
    sample<"OneHot">({ axis: 1, depth: 18, dtype: "f32" }, indices([4_133], 18)),
    sample<"OneHot">({ axis: 1, depth: 4_134, dtype: "f32" }, indices([18], 4_134)),
    sample<"OneHot">({ axis: 0, depth: 66_002, dtype: "f32" }, indices([2], 66_002)),
  ],
};
