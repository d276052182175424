import { type DType, elementCount, type HostTensor, hostArrayOf, type Shape } from "@mp/graph";
import type { RandomSource } from "./random-source.js";

/** Any bits that the dtype has: NaN of every payload, infinities and subnormal numbers among them; a bool is 0 or 1. */
export function randomBitsOf(random: RandomSource, dtype: DType, shape: Shape): HostTensor {
  const data = new hostArrayOf[dtype](elementCount(shape, "random bits"));
  const bytes = new Uint8Array(data.buffer);
  const words = new Uint32Array(data.buffer, 0, bytes.length >> 2);
  for (let at = 0; at < words.length; at++) words[at] = random.next() * 2 ** 32;
  for (let at = words.length * 4; at < bytes.length; at++) bytes[at] = random.integer(0, 255);
  if (dtype === "bool") for (let at = 0; at < bytes.length; at++) bytes[at] = (bytes[at] as number) & 1;
  return { dtype, shape, data } as HostTensor;
}
