import type { Shape } from "@mp/core";
import type { OpAttributes, OpOf } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import { exact, sample } from "../op-sample.js";
import { natural, type SizeRows, smooth } from "./size-row.js";

const of = (
  query: Shape,
  key: Shape,
  attributes: Partial<OpAttributes["Attention"]> = {},
  mask: readonly Shape[] = [],
) =>
  sample<"Attention">(
    { scale: 0.5, isCausal: false, softcap: 0, ...attributes },
    smooth(query),
    smooth(key),
    natural([...key.slice(0, 3), 2]),
    ...mask.map((shape) => generated("bool", shape, (at) => (at % 3 === 1 ? 0 : 1))),
  );

/** 2^15 of the keys have equal shares, and the others none, so that every sum is exact. */
function manyKeys() {
  const key = generated("f32", [1, 1, 66_002, 1], (at) => (at % 2 === 0 && at < 65_536 ? 0 : -200));
  return exact<"Attention">(
    { scale: 1, isCausal: false, softcap: 0 },
    generated("f32", [1, 1, 2, 1], () => 1),
    key,
    natural([1, 1, 66_002, 2]),
  );
}

/** Queries, keys, sizes, heads and batches beyond 1 000, 4 096 and 65 536. */
export const attentionSizes: SizeRows<OpOf<"attention">> = {
  Attention: () => [
    of([1, 1, 4_133, 2], [1, 1, 18, 2], { isCausal: true }),
    of([1, 1, 18, 2], [1, 1, 4_133, 2], {}, [[18, 4_133]]),
    manyKeys(),
    of([1, 2, 3, 1_031], [1, 2, 5, 1_031]),
    of([1, 4_134, 2, 3], [1, 2_067, 3, 3], {}, [[1, 4_134, 2, 3]]),
    of([4_133, 2, 3, 2], [4_133, 1, 3, 2], { isCausal: true }),
    of([1, 1, 263, 3], [1, 1, 263, 3], { isCausal: true }, [[263, 263]]),
  ],
};
