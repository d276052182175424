import { scope, type Tensor } from "@mp/core";
import type { DecoderInput } from "./decoder.js";

/** Computes blocks one after the other, each in a scope of its own and wrapped as the input says. */
export const throughBlocks = <B>(
  name: string,
  blocks: readonly B[],
  start: Tensor,
  { wrapped }: DecoderInput,
  outputOf: (own: B, x: Tensor, index: number) => Tensor,
): Tensor =>
  blocks.reduce((x, own, index) => {
    const run = wrapped((y: Tensor) => outputOf(own, y, index));
    return scope(`${name}/${index}`, () => run(x));
  }, start);
