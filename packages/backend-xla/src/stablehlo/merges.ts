/**
 * XLA's simplifier merges operations by rules that hold for real numbers but not for floats: x + 0 becomes x, (x + 3) -
 * 3 becomes x, x · 3 · 7 becomes x · 21, and a / b / c becomes a / (b · c). The result may have another sign of
 * zero, other last digits, or no overflow. To prevent a merge, the emitter puts another operation between the two.
 */
import type { Operand } from "./operand.js";
import type { BinaryOperation } from "./operations.js";

/**
 * A property of a value. `shifted`: a sum or difference with a constant. `scaled`: a product or quotient with
 * a constant. `quotient`: the result of a division.
 */
export type Trait = "constant" | "zero" | "negative zero" | "shifted" | "scaled" | "quotient";

const CONSTANTS: readonly Trait[] = ["constant", "zero", "negative zero"];

type Merged = Extract<BinaryOperation, "add" | "subtract" | "multiply" | "divide">;

/** Traits of each operation's result: one if an operand is constant, and one that it always has. */
const traitsOf: Readonly<Record<Merged, readonly [ofConstants: Trait, own?: Trait]>> = {
  add: ["shifted"],
  subtract: ["shifted"],
  multiply: ["scaled"],
  divide: ["scaled", "quotient"],
};

export const isMerged = (operation: BinaryOperation): operation is Merged =>
  Object.hasOwn(traitsOf, operation);

/** The traits of a program's values, as far as they are known. */
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

  /** Records a constant; `value` is undefined if the elements differ. @returns `x` */
  markConstant(x: Operand, value: unknown): Operand {
    const zero = Object.is(value, -0) ? "negative zero" : "zero";
    return this.mark(x, Number(value) === 0 ? ["constant", zero] : ["constant"]);
  }

  /** Records that `x` was rounded from another operand: XLA merges only constants through that. @returns `x` */
  copyRounded(x: Operand, from: Operand): Operand {
    return this.mark(
      x,
      CONSTANTS.filter((trait) => this.has(from, trait)),
    );
  }

  /** Records that `x` holds elements of another operand, or negated elements of it. @returns `x` */
  copy(x: Operand, { name }: Operand): Operand {
    const traits = this.#traits.get(name);
    if (traits !== undefined) this.#traits.set(x.name, traits);
    return x;
  }
}

/** The emitter's methods that separate operations. */
export interface Separators {
  unary(operation: "negate", x: Operand): Operand;
  fence(x: Operand): Operand;
  positiveZeros(x: Operand): Operand;
}

/** Emits a float operation so that XLA does not merge it. @param emit appends the operation itself */
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

/** Emits a sum or difference with constant zeros, which changes only signs of zeros; undefined for others. */
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
