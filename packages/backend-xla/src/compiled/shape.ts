/** Value types of a compiled module, by XLA's names. */
import { type Message, messagesAt, numberAt, numbersAt } from "./protobuf.js";

/** XLA's primitive types by number, with the bits per element. */
const TYPES: Readonly<Record<number, readonly [name: string, bits: number]>> = {
  1: ["pred", 8],
  2: ["s8", 8],
  3: ["s16", 16],
  4: ["s32", 32],
  5: ["s64", 64],
  6: ["u8", 8],
  7: ["u16", 16],
  8: ["u32", 32],
  9: ["u64", 64],
  10: ["f16", 16],
  11: ["f32", 32],
  12: ["f64", 64],
  16: ["bf16", 16],
  19: ["f8e5m2", 8],
  20: ["f8e4m3fn", 8],
  21: ["s4", 4],
  22: ["u4", 4],
  32: ["f4e2m1fn", 4],
  33: ["f8e8m0fnu", 8],
};
const TUPLE = 13;

export interface HloShape {
  /** XLA's name: `bf16`, `s32`; `tuple` for a list of values, `other` for a token and the like. */
  readonly type: string;
  readonly sizes: readonly number[];
  /** The values of a tuple. */
  readonly parts: readonly HloShape[];
  /** Bytes of memory that the value takes, including the parts of a tuple. */
  readonly bytes: number;
}

/** Reads a `ShapeProto` message. */
export function readShape(message: Message): HloShape {
  const number = numberAt(message, 2);
  const parts = messagesAt(message, 4).map(readShape);
  const sizes = numbersAt(message, 3);
  const [type, bits] = TYPES[number] ?? [number === TUPLE ? "tuple" : "other", 0];
  const own = Math.ceil((bits * countOf(sizes)) / 8);
  return { type, sizes, parts, bytes: parts.reduce((sum, part) => sum + part.bytes, own) };
}

export const countOf = (sizes: readonly number[]): number => sizes.reduce((a, b) => a * b, 1);

const FLOATS = /^b?f\d/;

export const isFloatType = (type: string): boolean => FLOATS.test(type);
