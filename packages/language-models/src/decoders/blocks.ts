import { scope, type Tensor } from "@mp/core";
import { gather, reshape } from "@mp/core/ops";
import type { DecoderInput } from "./decoder.js";

/**
 * Runs the blocks in order, each in its own scope and wrapped by `wrapped`. Returns the hidden states [batch,
 * time, size], or only the state at the position `place`.
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
