/**
 * Division of 64-bit integers in words: four estimates of the quotient in f32, each a little too small, and a last
 * correction by one.
 */
import type { Value } from "@mp/core/graph";
import { add, choose, isLess, magnitude, multiply, negate, subtract } from "./arithmetic.js";
import { nearFloat, ofFloat } from "./casts.js";
import type { Pair, WordBuilder } from "./words.js";

export interface Division {
  readonly quotient: Pair;
  readonly remainder: Pair;
}

/**
 * The relative error of an estimate is below 2^-19, with 2.5 ulp for the division. Lowered by this it is never too large,
 * and at most by 2^-17 too small.
 */
const LOWERED = 1 - 2 ** -18;

/** 2^64 · 2^-17 four times is below 1, and each estimate leaves less than one divisor more. */
const ESTIMATES = 4;

/** As u64. What divisors of 0 give is unspecified. */
function divideUnsigned(a: Pair, b: Pair, words: WordBuilder): Division {
  const divisor = nearFloat(b, words);
  let quotient = words.constant(0n);
  let remainder = a;
  for (let estimate = 0; estimate < ESTIMATES; estimate++) {
    const ratio = words.one("Div", [nearFloat(remainder, words), divisor], {});
    const part = ofFloat(words.one("Mul", [ratio, words.float(LOWERED)], {}), words);
    quotient = add(quotient, part, words);
    remainder = subtract(remainder, multiply(part, b, words), words);
  }
  const isOver = words.not(isLess(remainder, b, false, words));
  return {
    quotient: add(quotient, words.pair(isOver.shape, words.bit(isOver), words.word(0)), words),
    remainder: choose(isOver, subtract(remainder, b, words), remainder, words),
  };
}

const withSign = (isNegative: Value, a: Pair, words: WordBuilder): Pair =>
  choose(isNegative, negate(a, words), a, words);

/** Truncated toward zero; the remainder has the sign of `a`. */
export function divide(a: Pair, b: Pair, isSigned: boolean, words: WordBuilder): Division {
  if (!isSigned) return divideUnsigned(a, b, words);
  const { quotient, remainder } = divideUnsigned(magnitude(a, words), magnitude(b, words), words);
  const [isMinus, isByMinus] = [words.isNegative(a.high), words.isNegative(b.high)];
  return {
    quotient: withSign(words.one("Xor", [isMinus, isByMinus], {}), quotient, words),
    remainder: withSign(isMinus, remainder, words),
  };
}

/** The remainder with the sign of `b`, as Python's %. */
export function modulo(a: Pair, b: Pair, words: WordBuilder): Pair {
  const { remainder } = divide(a, b, true, words);
  const isOther = words.one("Xor", [words.isNegative(remainder.high), words.isNegative(b.high)], {});
  const isNone = words.both(
    words.equal(remainder.low, words.word(0)),
    words.equal(remainder.high, words.word(0)),
  );
  return choose(words.both(isOther, words.not(isNone)), add(remainder, b, words), remainder, words);
}
