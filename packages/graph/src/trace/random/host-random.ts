import { randomBits } from "../../random-bits.js";
import type { Key } from "./random.js";
import { squaresKey } from "./squares.js";

/** Uniform f32 numbers in [0, 1) on the host, for initial values: the first numbers of the key's stream. */
export function hostUniform(key: Key, count: number): Float32Array {
  return Float32Array.from(randomBits(0, squaresKey(key.path), count), (bits) => (bits >>> 8) * 2 ** -24);
}
