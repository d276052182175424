import type { Shape } from "@mp/core";
import type { OpOf } from "@mp/core/graph";
import { generated, randomData } from "../../host-data.js";
import type { GeneratedRows } from "../generated-row.js";
import { positives, sample } from "../op-sample.js";
import { formAt, lengthsOf } from "./tail-data.js";

type Sizes = readonly [time: number, keys: number, size: number, valueSize: number];

/** Each of the four is long, and all of them. */
const LONG: readonly ((length: number) => Sizes)[] = [
  (n) => [2, n, 3, 2],
  (n) => [n, 3, 2, 2],
  (n) => [2, 3, n, 2],
  (n) => [2, 3, 2, n],
  (n) => [Math.ceil(n / 2), n, 5, Math.ceil(n / 3)],
];

export const attentionTails: GeneratedRows<OpOf<"attention">> = {
  Attention: (dtype, random) =>
    lengthsOf(dtype).map((length) => {
      const [time, keys, size, valueSize] = formAt(LONG, length)(length);
      const heads = 1 + (length % 2);
      const mask: Shape = [time, keys];
      return sample<"Attention">(
        { scale: 0.5, isCausal: length % 4 === 0, softcap: 0 },
        randomData(random, dtype, [1, heads, time, size], -2, 2),
        randomData(random, dtype, [1, 1, keys, size], -2, 2),
        positives(random, dtype, [1, 1, keys, valueSize]),
        // Some keys are masked, never the first: every query attends to something.
        ...(length % 3 === 0
          ? [generated("bool", mask, (at) => (at % keys === 0 ? 1 : random.integer(0, 1)))]
          : []),
      );
    }),
};
