import type { DType } from "../dtype.js";
import { MpError } from "../errors.js";
import { formatType, type GraphBuilder } from "../graph/builder.js";
import type { Value } from "../graph/graph.js";
import type { Shape } from "../shape.js";

/**
 * A value of the graph being traced: immutable, typed, without data. Operators are free functions
 * (`add(x, 1)`). It lives as long as the trace that made it; coercing it to a primitive throws, since there
 * is no number to give.
 */
export class Tensor {
  /** Bundlers rename classes that speak of themselves, and messages name what they were given. */
  static readonly name: string = "Tensor";
  static {
    // What console.log of Node asks for; otherwise it shows the fields of a class that a bundler has renamed.
    Object.defineProperty(Tensor.prototype, Symbol.for("nodejs.util.inspect.custom"), {
      value(this: Tensor): string {
        return this.toString();
      },
    });
  }
  readonly dtype: DType;
  readonly shape: Shape;
  readonly #value: Value;
  readonly #builder: GraphBuilder;

  private constructor(value: Value, builder: GraphBuilder) {
    this.dtype = value.dtype;
    this.shape = value.shape;
    this.#value = value;
    this.#builder = builder;
    Object.freeze(this);
  }

  /** @internal */
  static of(value: Value, builder: GraphBuilder): Tensor {
    return new Tensor(value, builder);
  }

  /**
   * The value this tensor stands for in that builder, captured from an enclosing trace where need be.
   * @internal
   * @throws MP_INVALID_ARGUMENT when the tensor belongs to a trace that has ended or to another one
   */
  static valueIn(tensor: Tensor, builder: GraphBuilder | undefined, what: string): Value {
    const value = builder?.capture(tensor.#value);
    if (value === undefined) {
      throw new MpError(
        "MP_INVALID_ARGUMENT",
        `${what}: ${tensor} is used outside its trace; return it from the traced function, or pass data in as an argument`,
      );
    }
    return value;
  }

  /** @internal */
  static builderOf(tensor: Tensor): GraphBuilder {
    return tensor.#builder;
  }

  [Symbol.toPrimitive](hint: string): string {
    if (hint === "string") return this.toString();
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${this} has no number while tracing; use operators such as add(x, 1) and where(condition, a, b), not JavaScript's`,
    );
  }

  toString(): string {
    return `Tensor ${formatType(this.#value)}`;
  }
}

export function isTensor(value: unknown): value is Tensor {
  return value instanceof Tensor;
}
