/**
 * XLA's simplifier merges operations by rules that hold for real numbers and not for floats: x + 0 becomes x, (x + 3) - 3
 * becomes x, x · 3 · 7 becomes x · 21, and a / b / c becomes a / (b · c). The result loses the sign of a zero or its last
 * digits, or misses an overflow. The writer puts something between such operations, so that they stay two.
 */
import type { Operand } from "./operand.js";
import type { BinaryOperation } from "./operations.js";

/**
 * `shifted`: a sum with a constant is in it. `scaled`: a factor that is constant. `quotient`: made by a division.
 */
export type Trait = "constant" | "zero" | "negative zero" | "shifted" | "scaled" | "quotient";

type Merged = Extract<BinaryOperation, "add" | "subtract" | "multiply" | "divide">;

/** The trait of what an operation with a constant makes, and that of what it makes in any case. */
const traitsOf: Readonly<Record<Merged, readonly [ofConstants: Trait, own?: Trait]>> = {
  add: ["shifted"],
  subtract: ["shifted"],
  multiply: ["scaled"],
  divide: ["scaled", "quotient"],
};

export const isMerged = (operation: BinaryOperation): operation is Merged =>
  Object.hasOwn(traitsOf, operation);

/** What is known of the values of a text. */
export class Traits {
  readonly #traits = new Map<string, ReadonlySet<Trait>>();

  has({ name }: Operand, trait: Trait): boolean {
    return this.#traits.get(name)?.has(trait) === true;
  }

  /** @returns `x` */
  mark(x: Operand, traits: readonly Trait[]): Operand {
    this.#traits.set(x.name, new Set(traits));
    return x;
  }

  /** Notes a constant; `value` is undefined if its elements differ. @returns `x` */
  markConstant(x: Operand, value: unknown): Operand {
    const zero = Object.is(value, -0) ? "negative zero" : "zero";
    return this.mark(x, Number(value) === 0 ? ["constant", zero] : ["constant"]);
  }

  /** Notes that `x` holds elements of another operand, or their negatives. @returns `x` */
  copy(x: Operand, { name }: Operand): Operand {
    const traits = this.#traits.get(name);
    if (traits !== undefined) this.#traits.set(x.name, traits);
    return x;
  }
}

/** The operations that keep others apart. */
export interface Separators {
  unary(operation: "negate", x: Operand): Operand;
  fence(x: Operand): Operand;
  positiveZeros(x: Operand): Operand;
}

/** Emits an operation of floats. @param emit appends the operation itself */
export function emitApart(
  emitter: Separators,
  traits: Traits,
  operation: Merged,
  [a, b]: readonly [Operand, Operand],
  emit: (a: Operand, b: Operand) => Operand,
): Operand {
  if (operation === "add" || operation === "subtract") {
    const sum = sumWithZero(emitter, traits, operation, a, b);
    if (sum !== undefined) return sum;
  }
  const [ofConstants, own] = traitsOf[operation];
  const apart = (x: Operand, other: Operand): Operand => {
    if (operation === "divide" && traits.has(x, "quotient")) return emitter.fence(x);
    const meets = traits.has(other, "constant") || traits.has(other, ofConstants);
    return meets && traits.has(x, ofConstants) ? emitter.fence(x) : x;
  };
  const made = emit(apart(a, b), apart(b, a));
  const isMarked = [a, b].some((x) => traits.has(x, "constant") || traits.has(x, ofConstants));
  return traits.mark(made, [...(isMarked ? [ofConstants] : []), ...(own === undefined ? [] : [own])]);
}

/** A sum or difference with a constant of zeros, which is what it changes: the sign of a zero. */
function sumWithZero(
  emitter: Separators,
  traits: Traits,
  operation: "add" | "subtract",
  a: Operand,
  b: Operand,
): Operand | undefined {
  const [right, rightNegative] = [traits.has(b, "zero"), traits.has(b, "negative zero")];
  if (right || rightNegative) return right === (operation === "add") ? emitter.positiveZeros(a) : a;
  const [left, leftNegative] = [traits.has(a, "zero"), traits.has(a, "negative zero")];
  if (!left && !leftNegative) return undefined;
  const signed = operation === "add" ? b : emitter.unary("negate", b);
  return left ? emitter.positiveZeros(signed) : signed;
}
