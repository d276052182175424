import type { DType } from "../dtype.js";
import { invalid } from "../errors.js";
import type { GraphBuilder } from "../graph/build/builder.js";
import { formatType } from "../graph/format-type.js";
import type { Value } from "../graph/graph.js";
import type { Shape } from "../shape.js";

/**
 * A value of the graph being traced: immutable, typed, without data. Operators are free functions (`add(x, 1)`). A
 * tensor is valid while its trace runs. JavaScript arithmetic (`x + 1`) throws.
 */
export class Tensor {
  /** Bundlers rename classes that refer to themselves, but messages show this name. */
  static readonly name: string = "Tensor";
  static {
    // Node's console.log calls this; otherwise it would show the fields of a class that a bundler has renamed.
    Object.defineProperty(Tensor.prototype, Symbol.for("nodejs.util.inspect.custom"), {
      value(this: Tensor): string {
        return this.toString();
      },
    });
  }
  readonly dtype: DType;
  readonly shape: Shape;
  /** Declared only for TypeScript's messages: they show this name if host data is passed for a tensor. */
  declare readonly "Traced<typeof params>": never;
  readonly #value: Value;

  private constructor(value: Value) {
    this.dtype = value.dtype;
    this.shape = value.shape;
    this.#value = value;
    Object.freeze(this);
  }

  /** @internal */
  static of(value: Value): Tensor {
    return new Tensor(value);
  }

  /**
   * The builder's value for this tensor, captured from an enclosing trace if necessary.
   * @internal
   * @throws MP_INVALID_ARGUMENT when the tensor belongs to a trace that has ended or to another one
   */
  static valueIn(tensor: Tensor, builder: GraphBuilder | undefined, what: string): Value {
    const value = builder?.capture(tensor.#value);
    if (value === undefined) {
      throw invalid(
        `${what}: ${tensor} is used outside its trace; return it from the traced function, or pass data in as an argument`,
      );
    }
    return value;
  }

  [Symbol.toPrimitive](hint: string): string {
    if (hint === "string") return this.toString();
    throw invalid(
      `${this} has no number while tracing; use operators such as add(x, 1) and where(condition, a, b), not JavaScript's`,
    );
  }

  toString(): string {
    return `Tensor ${formatType(this.#value)}`;
  }
}

/** Whether a value is a tensor of a traced function. */
export function isTensor(value: unknown): value is Tensor {
  return value instanceof Tensor;
}
