/** Casts from and to 64-bit integers in words. */
import type { DType } from "@mp/core";
import { isFloat, type Value } from "@mp/core/graph";
import { choose, magnitude, negate } from "./arithmetic.js";
import type { Pair, WordBuilder } from "./words.js";

const WORD = 2 ** 32;

/** A u32 as f32, rounded. */
function floatOfWord(word: Value, words: WordBuilder): Value {
  const float = words.one("Cast", [word], { to: "f32" });
  const wrapped = words.choose(words.isNegative(word), words.float(WORD), words.float(0));
  return words.one("Add", [float, wrapped], {});
}

/** A u64 as f32, rounded up to four times: within 2^-22 of it. */
export function nearFloat({ low, high }: Pair, words: WordBuilder): Value {
  const scaled = words.one("Mul", [floatOfWord(high, words), words.float(WORD)], {});
  return words.one("Add", [scaled, floatOfWord(low, words)], {});
}

/** x = whole · unit + rest, all exact: unit is a power of two. */
function split(x: Value, unit: number, words: WordBuilder): { readonly whole: Value; readonly rest: Value } {
  const whole = words.one("Floor", [words.one("Mul", [x, words.float(1 / unit)], {})], {});
  return { whole, rest: words.one("Sub", [x, words.one("Mul", [whole, words.float(unit)], {})], {}) };
}

/** The integer part of an f32 of 0 or more and below 2^32. */
function wordOfFloat(x: Value, words: WordBuilder): Value {
  const { whole, rest } = split(x, 2 ** 16, words);
  const [upper, lower] = [whole, rest].map((part) => words.one("Cast", [part], { to: "i32" })) as [
    Value,
    Value,
  ];
  return words.add(words.times(upper, 2 ** 16), lower);
}

/** The integer part of an f32 of 0 or more and below 2^64. */
export function ofFloat(x: Value, words: WordBuilder): Pair {
  const { whole, rest } = split(x, WORD, words);
  return words.pair(x.shape, wordOfFloat(rest, words), wordOfFloat(whole, words));
}

/** Floats truncate toward zero. */
export function ofValue(x: Value, words: WordBuilder): Pair {
  if (isFloat(x.dtype)) {
    const wide = x.dtype === "f32" ? x : words.one("Cast", [x], { to: "f32" });
    const positive = ofFloat(words.one("Abs", [wide], {}), words);
    const isNegative = words.one("Less", [wide, words.float(0)], {});
    return choose(isNegative, negate(positive, words), positive, words);
  }
  if (x.dtype !== "i32") return words.pair(x.shape, words.one("Cast", [x], { to: "i32" }), words.word(0));
  const extended = words.sub(words.word(0), words.bit(words.isNegative(x)));
  return words.pair(x.shape, x, extended);
}

/** An unsigned number in limbs of 16 bits, the highest first, times 2^16 in some places. */
interface Limbs {
  readonly limbs: readonly Value[];
  readonly scale: Value;
}

const isSome = (limb: Value, words: WordBuilder): Value => words.not(words.equal(limb, words.word(0)));

/** The number with its last bit set as well, where the condition holds. */
function withLastBit(limb: Value, condition: Value, words: WordBuilder): Value {
  const isEven = words.equal(words.times(words.quotient(limb, 2), 2), limb);
  return words.add(limb, words.bit(words.both(isEven, condition)));
}

/**
 * One limb less: where the highest one is not 0, the lowest is dropped. The last bit then stands for all that are lost,
 * so that rounding sees no false tie: more bits are left than a float has, 33 in three limbs and 17 in two.
 */
function withoutALimb({ limbs, scale }: Limbs, words: WordBuilder): Limbs {
  const [first, ...others] = limbs as [Value, ...Value[]];
  const last = limbs.at(-1) as Value;
  const kept = limbs.slice(0, -1);
  const isLarge = isSome(first, words);
  const rounded = kept.map((limb, index) =>
    index < kept.length - 1 ? limb : withLastBit(limb, isSome(last, words), words),
  );
  return {
    limbs: rounded.map((limb, index) => words.choose(isLarge, limb, others[index] as Value)),
    scale: words.one("Mul", [scale, words.choose(isLarge, words.float(2 ** 16), words.float(1))], {}),
  };
}

const float = (word: Value, words: WordBuilder): Value => words.one("Cast", [word], { to: "f32" });

/** Three limbs as f32, rounded once: two halves of 24 bits are exact, and so is the scale. */
function roundedToF32({ limbs: [a, b, c], scale }: Limbs, words: WordBuilder): Value {
  const upperOfB = words.quotient(b as Value, 2 ** 8);
  const lowerOfB = words.sub(b as Value, words.times(upperOfB, 2 ** 8));
  const top = words.add(words.times(a as Value, 2 ** 8), upperOfB);
  const rest = words.add(words.times(lowerOfB, 2 ** 16), c as Value);
  const scaled = words.one("Mul", [float(top, words), words.float(2 ** 24)], {});
  return words.one("Mul", [words.one("Add", [scaled, float(rest, words)], {}), scale], {});
}

/** Two limbs as f32 with 16 bits or all of them, whose last one stands for what is lost. */
function oddInF32({ limbs: [a, b], scale }: Limbs, words: WordBuilder): Value {
  const upper = words.quotient(b as Value, 2 ** 8);
  const lost = isSome(words.sub(b as Value, words.times(upper, 2 ** 8)), words);
  const short = words.add(words.times(a as Value, 2 ** 8), withLastBit(upper, lost, words));
  const whole = words.add(words.times(a as Value, 2 ** 16), b as Value);
  const isLarge = isSome(words.quotient(a as Value, 2 ** 8), words);
  // A word of 2^31 or more is negative here, but then it is not chosen.
  const chosen = float(words.choose(isLarge, short, whole), words);
  const by = words.choose(isLarge, words.float(2 ** 8), words.float(1));
  return words.one("Mul", [chosen, words.one("Mul", [by, scale], {})], {});
}

/** To a float dtype, rounded once. f16 holds integers up to 2^16, which f32 holds without rounding. */
function toFloat(x: Pair, isSigned: boolean, to: DType, words: WordBuilder): Value {
  const { low, high } = isSigned ? magnitude(x, words) : x;
  const [h, l] = [words.limbs(high), words.limbs(low)];
  const all: Limbs = { limbs: [h.upper, h.lower, l.upper, l.lower], scale: words.float(1) };
  const three = withoutALimb(all, words);
  const size = to === "bf16" ? oddInF32(withoutALimb(three, words), words) : roundedToF32(three, words);
  const signed = isSigned ? words.choose(words.isNegative(x.high), words.one("Neg", [size], {}), size) : size;
  return to === "f32" ? signed : words.one("Cast", [signed], { to });
}

/** To a dtype of at most 32 bits. Integers keep their low bits. */
export function toValue(x: Pair, isSigned: boolean, to: DType, words: WordBuilder): Value {
  const full = (value: Value): Value => words.full(value, x.shape);
  if (isFloat(to)) return full(toFloat(x, isSigned, to, words));
  if (to === "bool") {
    const zero = words.word(0);
    return full(words.not(words.both(words.equal(x.low, zero), words.equal(x.high, zero))));
  }
  return full(to === "i32" ? x.low : words.one("Cast", [x.low], { to }));
}
