import { elementCount, type HostTensor, hostArrayOf, type Shape } from "@mp/graph";
import type { Draws } from "./host-data.js";

/** Random bits in a dtype, including NaN of every payload, infinities and subnormals; a bool is 0 or 1. */
export function randomBits(draws: Draws, shape: Shape): HostTensor {
  const data = new hostArrayOf[draws.dtype](elementCount(shape, "random bits"));
  const bytes = new Uint8Array(data.buffer);
  const words = new Uint32Array(data.buffer, 0, bytes.length >> 2);
  for (let at = 0; at < words.length; at++) words[at] = draws.random.next() * 2 ** 32;
  for (let at = words.length * 4; at < bytes.length; at++) bytes[at] = draws.random.integer(0, 255);
  if (draws.dtype === "bool") for (let at = 0; at < bytes.length; at++) bytes[at] = (bytes[at] as number) & 1;
  return { dtype: draws.dtype, shape, data } as HostTensor;
}
