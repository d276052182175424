import { randomBits } from "../../random-bits.js";
import type { Key } from "./random.js";
import { squaresKey } from "./squares.js";

/** Uniform f32 numbers in [0, 1) on the host, for initial values: the stream of that key at counter 0. */
export function hostUniform(key: Key, count: number): Float32Array {
  const bits = randomBits(0n, squaresKey(key.path), count);
  const words = new Uint32Array(bits.buffer);
  const low = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 0 : 1;
  return Float32Array.from(
    { length: count },
    (_, index) => ((words[2 * index + low] as number) >>> 8) * 2 ** -24,
  );
}
