/**
 * XLA's simplifier takes floats for real numbers where it meets constants and divisions: x + 0 becomes x, (x + 3) - 3
 * becomes x, x · 3 · 7 becomes x · 21, and a / b / c becomes a / (b · c). That loses the sign of a zero, digits, or
 * everything to an overflow. This file knows which values it would merge, so that the writer keeps them apart.
 */
import type { Operand } from "./operand.js";

/** `shifted`: a sum with a constant is in it. `scaled`: a factor that is constant. `quotient`: made by a division. */
export type Trait = "constant" | "zero" | "shifted" | "scaled" | "quotient";

/** Operations that XLA merges with others of the same trait. */
export const mergedBy: Readonly<Partial<Record<string, "shifted" | "scaled">>> = {
  add: "shifted",
  subtract: "shifted",
  multiply: "scaled",
  divide: "scaled",
};

export class Traits {
  readonly #traits = new Map<string, ReadonlySet<Trait>>();

  has({ name }: Operand, trait: Trait): boolean {
    return this.#traits.get(name)?.has(trait) === true;
  }

  /** @returns `x` */
  mark(x: Operand, ...traits: readonly Trait[]): Operand {
    this.#traits.set(x.name, new Set(traits));
    return x;
  }

  /** Notes that `x` holds the elements of another operand. @returns `x` */
  copy(x: Operand, { name }: Operand): Operand {
    const traits = this.#traits.get(name);
    if (traits !== undefined) this.#traits.set(x.name, traits);
    return x;
  }

  /** Whether an operation would be merged with the one that made its operand `x`. */
  merges(operation: string, x: Operand, other: Operand): boolean {
    const trait = mergedBy[operation];
    if (trait === undefined) return false;
    if (operation === "divide" && this.has(x, "quotient")) return true;
    return this.has(x, trait) && (this.has(other, "constant") || this.has(other, trait));
  }

  /** Notes what an operation has made of its operands. @returns its result */
  made(operation: string, result: Operand, operands: readonly Operand[]): Operand {
    const trait = mergedBy[operation];
    if (trait === undefined) return result;
    const isMarked = operands.some((x) => this.has(x, "constant") || this.has(x, trait));
    return this.mark(
      result,
      ...(isMarked ? [trait] : []),
      ...(operation === "divide" ? (["quotient"] as const) : []),
    );
  }
}
