/** Arithmetic, order and choice of 64-bit integers in words. */
import { broadcastShapes, type Value } from "@mp/core/graph";
import type { Pair, WordBuilder } from "./words.js";

const shapeOf = (a: Pair, b: Pair): readonly number[] => broadcastShapes(a.shape, b.shape, "words");

export function add(a: Pair, b: Pair, words: WordBuilder): Pair {
  const low = words.add(a.low, b.low);
  const high = words.add(a.high, b.high);
  if (low === a.low || low === b.low) return words.pair(shapeOf(a, b), low, high);
  // A sum that wraps is below either term.
  return words.pair(shapeOf(a, b), low, words.add(high, words.bit(words.isBelow(low, a.low))));
}

export function subtract(a: Pair, b: Pair, words: WordBuilder): Pair {
  const low = words.sub(a.low, b.low);
  const high = words.sub(a.high, b.high);
  if (low === a.low) return words.pair(shapeOf(a, b), low, high);
  return words.pair(shapeOf(a, b), low, words.sub(high, words.bit(words.isBelow(a.low, b.low))));
}

export const negate = (a: Pair, words: WordBuilder): Pair => subtract(words.constant(0n), a, words);

/** The high word of the product of two u32. */
function highOfProduct(a: Value, b: Value, words: WordBuilder): Value {
  if (words.isZero(a)) return a;
  if (words.isZero(b)) return b;
  const { upper: a1, lower: a0 } = words.limbs(a);
  const { upper: b1, lower: b0 } = words.limbs(b);
  const cross = words.add(words.mul(a1, b0), words.shiftedRight(words.mul(a0, b0), 16));
  const { upper, lower } = words.limbs(cross);
  const rest = words.shiftedRight(words.add(words.mul(a0, b1), lower), 16);
  return words.add(words.add(words.mul(a1, b1), upper), rest);
}

/** The low 64 bits. */
export function multiply(a: Pair, b: Pair, words: WordBuilder): Pair {
  const crossed = words.add(words.mul(a.low, b.high), words.mul(a.high, b.low));
  const high = words.add(highOfProduct(a.low, b.low, words), crossed);
  return words.pair(shapeOf(a, b), words.mul(a.low, b.low), high);
}

/** Bool. */
export function isLess(a: Pair, b: Pair, isSigned: boolean, words: WordBuilder): Value {
  const ofHighs = isSigned ? words.one("Less", [a.high, b.high], {}) : words.isBelow(a.high, b.high);
  return words.choose(words.equal(a.high, b.high), words.isBelow(a.low, b.low), ofHighs);
}

/** Bool. */
export const isEqual = (a: Pair, b: Pair, words: WordBuilder): Value =>
  words.both(words.equal(a.low, b.low), words.equal(a.high, b.high));

export function choose(condition: Value, a: Pair, b: Pair, words: WordBuilder): Pair {
  const shape = broadcastShapes(condition.shape, shapeOf(a, b), "words");
  return words.pair(shape, words.choose(condition, a.low, b.low), words.choose(condition, a.high, b.high));
}

/** The magnitude; the lowest i64 keeps its own bits, which are its magnitude as u64. */
export const magnitude = (a: Pair, words: WordBuilder): Pair =>
  choose(words.isNegative(a.high), negate(a, words), a, words);
