import { type Shape, tensor } from "@mp/core";
import type { OpOf } from "@mp/core/graph";
import { sample } from "../op-sample.js";
import { counting, LONG, type SizeRows, TALL } from "./size-row.js";

export const sourceSizes: SizeRows<OpOf<"source">> = {
  Constant: () => [
    sample<"Constant">({ value: counting(LONG) }),
    sample<"Constant">({ value: counting(TALL) }),
  ],
  Range: () => [
    sample<"Range">({ start: 0, limit: 66_002, delta: 1, dtype: "f32" }),
    sample<"Range">({ start: 66_002, limit: -66_000, delta: -2, dtype: "i32" }),
  ],
  RandomBits: () => {
    const draw = (drawn: number, shape: Shape) =>
      sample<"RandomBits">({ key: 0x9c3e5a1fb7d24681n, shape }, tensor(Int32Array.of(drawn), []));
    return [draw(2 ** 16 - 1, [66_002]), draw(2 ** 24 + 1, TALL), draw(2 ** 31 - 500, [1_031])];
  },
  Barrier: () => [sample<"Barrier">({}, counting(TALL), counting(LONG))],
};
