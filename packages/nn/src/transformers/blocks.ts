import { scope, type Tensor } from "@mp/core";
import { gather, reshape } from "@mp/core/ops";
import type { DecoderInput } from "./decoder.js";

/**
 * Computes blocks one after the other, each in a scope of its own and wrapped as the input says: the one place that it
 * wants of the last one's [batch, time, size], or all.
 */
export function throughBlocks<B>(
  name: string,
  blocks: readonly B[],
  start: Tensor,
  { wrapped, place }: DecoderInput,
  outputOf: (own: B, x: Tensor, index: number) => Tensor,
): Tensor {
  const last = blocks.reduce((x, own, index) => {
    const run = wrapped((y: Tensor) => outputOf(own, y, index));
    return scope(`${name}/${index}`, () => run(x));
  }, start);
  return place === undefined ? last : gather(last, reshape(place, [1]), 1);
}
