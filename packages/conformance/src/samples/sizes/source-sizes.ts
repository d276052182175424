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
    const draw = (counter: bigint, shape: Shape) =>
      sample<"RandomBits">(
        { key: 0x9c3e5a1fb7d24681n, shape },
        tensor(BigUint64Array.of(counter), [], "u64"),
      );
    // Counters on both sides of 2^32 and of 2^33.
    return [
      draw(2n ** 32n - 33_000n, [66_002]),
      draw(2n ** 33n - 40_000n, TALL),
      draw(2n ** 40n + 2n ** 31n - 500n, [1_031]),
    ];
  },
  Barrier: () => [sample<"Barrier">({}, counting(TALL), counting(LONG))],
};
