import type { GraphBuilder, Origin, Value } from "@mp/core/graph";

/** A 64-bit integer as its two halves. Their shapes broadcast to `shape`; a constant half may be a scalar. */
export interface Pair {
  readonly kind: "pair";
  readonly shape: readonly number[];
  /** i32 with the bits of the low half. */
  readonly low: Value;
  /** i32 with the bits of the high half. */
  readonly high: Value;
}

/** Integers that one word holds, still u64: random bits and their quotients, which the device has as u32. */
export interface Short {
  readonly kind: "short";
  readonly value: Value;
  /** All are less than this, at most 2^32. */
  readonly below: number;
}

/** The words in place of a value of a 64-bit dtype. */
export type Words = Pair | Short;

/** The halves of an integer as i32. */
export const wordsOf = (number: bigint): Readonly<Record<"low" | "high", number>> => ({
  low: Number(BigInt.asIntN(32, number)),
  high: Number(BigInt.asIntN(32, number >> 32n)),
});

const SIGN = -(2 ** 31);

/**
 * Emits arithmetic of 32-bit words: i32 values whose bits are meant, since they wrap in both senses and only order, shifts
 * and casts tell i32 from u32. What a constant of 0 makes needless is left out.
 */
export class WordBuilder {
  readonly builder: GraphBuilder;
  readonly #numbers = new Map<Value, number>();
  readonly #made = new Map<unknown, Value>();
  #origin: Origin = { scope: "", phase: "forward" };

  constructor(builder: GraphBuilder) {
    this.builder = builder;
  }

  /** Sets the origin of everything emitted from here on. */
  at(origin: Origin): void {
    this.#origin = origin;
    // Literals are shared among nodes of one segment.
    this.builder.origin = origin;
  }

  emit: GraphBuilder["emit"] = (op, inputs, attributes, origin = this.#origin, name) =>
    this.builder.emit(op, inputs, attributes, origin, name);

  one: GraphBuilder["emitOne"] = (op, inputs, attributes, origin = this.#origin) =>
    this.builder.emitOne(op, inputs, attributes, origin);

  /** Makes a value once. */
  once(of: unknown, make: () => Value): Value {
    const made = this.#made.get(of) ?? make();
    this.#made.set(of, made);
    return made;
  }

  /** A scalar i32. */
  word(number: number): Value {
    const value = this.builder.literal(number, "i32");
    this.#numbers.set(value, number);
    return value;
  }

  /** A scalar f32. */
  float(number: number): Value {
    return this.builder.literal(number, "f32");
  }

  /** Whether it was made by `word(0)`. */
  isZero(value: Value): boolean {
    return this.#numbers.get(value) === 0;
  }

  add(a: Value, b: Value): Value {
    if (this.isZero(a)) return b;
    return this.isZero(b) ? a : this.one("Add", [a, b], {});
  }

  sub(a: Value, b: Value): Value {
    return this.isZero(b) ? a : this.one("Sub", [a, b], {});
  }

  /** The low word of the product. */
  mul(a: Value, b: Value): Value {
    if (this.isZero(a)) return a;
    return this.isZero(b) ? b : this.one("Mul", [a, b], {});
  }

  times(a: Value, number: number): Value {
    return this.mul(a, this.word(number));
  }

  /** Truncated; for words below 2^31 and a positive number. */
  quotient(a: Value, number: number): Value {
    return this.isZero(a) ? a : this.one("Div", [a, this.word(number)], {});
  }

  /** Bool. */
  isNegative(a: Value): Value {
    return this.one("Less", [a, this.word(0)], {});
  }

  /** Bool. */
  equal(a: Value, b: Value): Value {
    return this.one("Equal", [a, b], {});
  }

  /** Bool: whether a < b as u32. Half the range apart, i32 has the order of u32. */
  isBelow(a: Value, b: Value): Value {
    const moved = (word: Value): Value =>
      this.isZero(word) ? this.word(SIGN) : this.add(word, this.word(SIGN));
    return this.one("Less", [moved(a), moved(b)], {});
  }

  both(a: Value, b: Value): Value {
    return this.one("And", [a, b], {});
  }

  not(a: Value): Value {
    return this.one("Not", [a], {});
  }

  choose(condition: Value, a: Value, b: Value): Value {
    return a === b ? a : this.one("Where", [condition, a, b], {});
  }

  /** 1 where the bool holds. */
  bit(condition: Value): Value {
    return this.one("Cast", [condition], { to: "i32" });
  }

  /** u32 divided by 2^places, 1 … 30. */
  shiftedRight(a: Value, places: number): Value {
    if (this.isZero(a)) return a;
    const isHigh = this.isNegative(a);
    const rest = this.choose(isHigh, this.add(a, this.word(SIGN)), a);
    const top = this.choose(isHigh, this.word(2 ** (31 - places)), this.word(0));
    return this.one("Add", [this.quotient(rest, 2 ** places), top], {});
  }

  /** Its upper and lower 16 bits. */
  limbs(a: Value): { readonly upper: Value; readonly lower: Value } {
    const upper = this.shiftedRight(a, 16);
    return { upper, lower: this.sub(a, this.times(upper, 2 ** 16)) };
  }

  /** The half with the whole shape. */
  full(half: Value, shape: readonly number[]): Value {
    const isFull =
      half.shape.length === shape.length && half.shape.every((size, axis) => size === shape[axis]);
    return isFull ? half : this.one("Expand", [half], { shape });
  }

  pair(shape: readonly number[], low: Value, high: Value): Pair {
    return { kind: "pair", shape, low, high };
  }

  /** A scalar constant, of either dtype. */
  constant(number: bigint): Pair {
    const { low, high } = wordsOf(number);
    return this.pair([], this.word(low), this.word(high));
  }

  /** The number as u64 that a scalar constant is; undefined for other pairs. */
  numberOf({ low, high }: Pair): number | undefined {
    const [lower, upper] = [this.#numbers.get(low), this.#numbers.get(high)];
    return lower === undefined || upper === undefined ? undefined : (upper >>> 0) * 2 ** 32 + (lower >>> 0);
  }

  /** The two halves of any representation. */
  halves(words: Words): Pair {
    if (words.kind === "pair") return words;
    const { value } = words;
    return this.pair(value.shape, this.one("Cast", [value], { to: "i32" }), this.word(0));
  }
}
