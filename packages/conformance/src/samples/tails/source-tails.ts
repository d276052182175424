import { type DType, tensor } from "@mp/core";
import type { OpOf, Value } from "@mp/core/graph";
import type { GeneratedRows } from "../generated-row.js";
import { loop } from "../loop-samples.js";
import { sample } from "../op-sample.js";
import { everySeventh, labelled, lengthsOf, SIDES } from "./tail-data.js";

/** The largest number up to which each dtype counts exactly; bools have only 0 and 1. */
const rangeOf = (dtype: DType, length: number) =>
  dtype === "bool"
    ? { start: 0, limit: Math.min(length, 2), delta: 1, dtype }
    : { start: 1, limit: 2 * length, delta: 2, dtype };

export const sourceTails: GeneratedRows<OpOf<"source" | "loop">> = {
  Constant: (dtype, random) =>
    lengthsOf(dtype).map((length) => sample<"Constant">({ value: labelled(random, dtype, [length]) })),
  Range: (dtype) => lengthsOf(dtype).map((length) => sample<"Range">(rangeOf(dtype, length))),
  RandomBits: () =>
    [...SIDES, ...everySeventh(3)].map((length, at) =>
      sample<"RandomBits">(
        { key: 0x9c3e5a1fb7d24681n + BigInt(2 * length), shape: at % 3 === 0 ? [3, length] : [length] },
        tensor(Int32Array.of(2 ** 16 - at), []),
      ),
    ),
  Barrier: (dtype, random) =>
    lengthsOf(dtype).map((length) =>
      sample<"Barrier">({}, labelled(random, dtype, [length]), labelled(random, dtype, [2])),
    ),
  Scan: (dtype) =>
    // What came one element before, of wide elements and of many.
    SIDES.map((size, at) => {
      const [width, length] = at % 2 === 0 ? [size, 3] : [3, size];
      return loop({
        dtype,
        carries: [[width]],
        sequences: [[width]],
        length,
        reverse: at % 4 < 2,
        step: (builder, [carry, element]) => [
          builder.emitOne("Identity", [element as Value], {}),
          builder.emitOne("Identity", [carry as Value], {}),
        ],
      });
    }),
};
