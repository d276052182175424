/**
 * Values of 64 bits where words meet the world: i32 of shape […, 2], whose bytes are those of the integers in
 * little-endian order.
 */
import { type HostTensor, tensor } from "@mp/core";
import { hostArrayOf, type Value, type ValueType } from "@mp/core/graph";
import type { Pair, WordBuilder } from "./words.js";

export const isWide = ({ dtype }: ValueType): boolean => dtype === "i64" || dtype === "u64";

/** The type that words of a 64-bit value have outside; other types are their own. */
export const packedType = (type: ValueType): ValueType =>
  isWide(type) ? { dtype: "i32", shape: [...type.shape, 2] } : type;

/** A 64-bit tensor as i32, on the same memory; other tensors are their own. */
export function relabeled(given: HostTensor): HostTensor {
  if (!isWide(given)) return given;
  const { buffer, byteOffset, length } = given.data as BigInt64Array<ArrayBuffer>;
  return tensor(new Int32Array(buffer, byteOffset, 2 * length), [...given.shape, 2]);
}

/** Gives the result of `relabeled` the type of the original again. */
export function relabeledAs(given: HostTensor, { dtype, shape }: ValueType): HostTensor {
  if (dtype !== "i64" && dtype !== "u64") return given;
  const words = given.data as Int32Array<ArrayBuffer>;
  // Integers of 64 bits lie at multiples of 8 bytes.
  const { buffer, byteOffset } = words.byteOffset % 8 === 0 ? words : words.slice();
  const data = new hostArrayOf[dtype](buffer, byteOffset, words.length / 2);
  return { dtype, shape, data } as HostTensor;
}

export function unpacked(packed: Value, words: WordBuilder): Pair {
  const shape = packed.shape.slice(0, -1);
  const half = (index: number): Value =>
    words.one("Gather", [packed, words.word(index)], { axis: shape.length });
  return words.pair(shape, half(0), half(1));
}

export function packed({ shape, low, high }: Pair, words: WordBuilder): Value {
  const axis = shape.length;
  const column = (half: Value): Value => words.one("Unsqueeze", [words.full(half, shape)], { axes: [axis] });
  return words.one("Concat", [column(low), column(high)], { axis });
}

/** One of every two words, from the first or the second. */
function everyOther(all: Int32Array, from: number): Int32Array<ArrayBuffer> {
  return Int32Array.from({ length: all.length / 2 }, (_, index) => all[2 * index + from] ?? 0);
}

/** A constant of a 64-bit dtype. */
export function constantPair({ shape, data }: HostTensor, words: WordBuilder): Pair {
  const big = data as BigInt64Array;
  const [only] = big;
  if (big.length === 1 && only !== undefined) return { ...words.constant(only), shape };
  const all = new Int32Array(big.buffer, big.byteOffset, 2 * big.length);
  const half = (from: number): Value =>
    words.one("Constant", [], { value: tensor(everyOther(all, from), shape) });
  return words.pair(shape, half(0), half(1));
}
