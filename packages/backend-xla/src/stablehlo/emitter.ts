import {
  type DType,
  type FloatDType,
  floatFormats,
  type HostTensor,
  isEighth,
  isFloat,
  type Shape,
  sameShape,
  type ValueType,
} from "@mp/graph";
import type { KnownIndices } from "./known-indices.js";
import { literalText, splatText, uniformValue } from "./literal.js";
import { emitApart, isMerged, Traits } from "./merges.js";
import { dtypeOf, type Operand, range, rankOf, repeated, shapeOf, sizeOf } from "./operand.js";
import type { BinaryOperation, Comparison, UnaryOperation } from "./operations.js";
import { comparisonType, listText, namesText, typesText, typeText } from "./tensor-type.js";

export interface EmitterOptions {
  /** Whether f32 products may round their operands to TF32. */
  readonly tf32: boolean;
  /** Whether the text is for XLA's CPU compiler, whose reductions lose NaN in long rows. */
  readonly isProcessor?: boolean;
  /** How many devices run the program together. */
  readonly devices: number;
  /** Whether attention nodes call cuDNN's kernels, where cuDNN has one. */
  readonly flashAttention?: boolean;
}

/**
 * Appends operations to the text of a function. Each method adds one operation, or none where the result equals the
 * operand, and returns the result. Shapes must fit; graphs have been checked before they are emitted.
 */
export class Emitter {
  readonly options: EmitterOptions;
  /** Facts about the indices of the graph that is being emitted. */
  knownIndices: KnownIndices | undefined;
  #lines: string[] = [];
  #names = 0;
  #inRange: Operand[] = [];
  readonly #traits = new Traits();

  constructor(options: EmitterOptions) {
    this.options = options;
  }

  /** Whether the text is for one GPU. Several GPUs add partial sums in the sum's dtype and need fixed layouts. */
  get isForOneGpu(): boolean {
    return this.options.isProcessor !== true && this.options.devices === 1;
  }

  /** The operations so far, one per line. */
  text(): string {
    return this.#lines.join("\n");
  }

  // ---- operations of any kind

  /** Appends an operation with one result. @param operation text of the operation, to the right of `=` */
  emit(operation: string, type: ValueType): Operand {
    const name = this.#newName();
    this.#lines.push(`${name} = ${operation}`);
    return { name, type };
  }

  /** Appends an operation with several results. */
  emitMany(operation: string, types: readonly ValueType[]): readonly Operand[] {
    const [only] = types;
    if (types.length === 1 && only !== undefined) return [this.emit(operation, only)];
    const name = this.#newName();
    this.#lines.push(`${name}:${types.length} = ${operation}`);
    return types.map((type, index) => ({ name: `${name}#${index}`, type }));
  }

  /**
   * Returns the text of a region, `{ ^bb0(…): … stablehlo.return … }`, in the generic form of operations.
   * @param body emits the region's operations from its arguments and returns its results
   */
  region(
    types: readonly ValueType[],
    body: (args: readonly Operand[]) => readonly Operand[],
    end?: string,
  ): string {
    const args = types.map((type) => ({ name: this.#newName(), type }));
    const head = args.map(({ name, type }) => `${name}: ${typeText(type)}`).join(", ");
    return `{\n^bb0(${head}):\n${this.block(() => body(args), end)}\n}`;
  }

  /** Returns the text of the operations of `body`, followed by `end`, the operation that returns results. */
  block(body: () => readonly Operand[], end = "stablehlo.return"): string {
    const outer = this.#lines;
    this.#lines = [];
    const results = body();
    this.#lines.push(`${end} ${namesText(results)} : ${typesText(results)}`);
    const text = this.text();
    this.#lines = outer;
    return text;
  }

  // ---- constants

  constant(value: HostTensor): Operand {
    const { dtype, shape } = value;
    const uniform = uniformValue(value);
    const isByteFloat = isEighth(dtype);
    if (this.options.isProcessor === true && isByteFloat && uniform === undefined)
      return this.#byteFloats(value);
    const made = this.emit(`stablehlo.constant ${literalText(value)} : ${typeText({ dtype, shape })}`, {
      dtype,
      shape,
    });
    return this.#traits.markConstant(made, uniform);
  }

  /** XLA's CPU compiler makes invalid code from constants of 8-bit floats, so the program contains their bytes. */
  #byteFloats({ dtype, data, shape }: HostTensor): Operand {
    const [bytes] = this.barrier(this.constant({ dtype: "u8", data: data as Uint8Array, shape }));
    return this.bitcast(bytes as Operand, dtype);
  }

  /** Makes a tensor whose elements are all `value`, rounded to the dtype. */
  splat(dtype: DType, value: number | bigint, shape: Shape = []): Operand {
    const type = { dtype, shape };
    const made = this.emit(`stablehlo.constant ${splatText(dtype, value)} : ${typeText(type)}`, type);
    return this.#traits.markConstant(made, value);
  }

  /** Makes a tensor with the dtype and shape of `x` whose elements are all `value`. */
  like(x: Operand, value: number | bigint): Operand {
    return this.splat(dtypeOf(x), value, shapeOf(x));
  }

  /** Whether all elements of `x` are known to be +0. */
  isZero(x: Operand): boolean {
    return this.#traits.has(x, "zero");
  }

  /** Makes a tensor in which each element is its own index along `axis`. */
  iota(dtype: DType, shape: Shape, axis: number): Operand {
    const type = { dtype, shape };
    return this.emit(`stablehlo.iota dim = ${axis} : ${typeText(type)}`, type);
  }

  // ---- functions of each element

  unary(operation: UnaryOperation, x: Operand): Operand {
    const made = this.emit(`stablehlo.${operation} ${x.name} : ${typeText(x.type)}`, x.type);
    return operation === "negate" ? this.#traits.copy(made, x) : made;
  }

  /** Calls a function of the dialect CHLO, which the plugin expands. */
  special(operation: "erf" | "erfc", x: Operand): Operand {
    const type = typeText(x.type);
    return this.emit(`chlo.${operation} ${x.name} : ${type} -> ${type}`, x.type);
  }

  /**
   * Emits an operation of two operands. Separates float operations that XLA would otherwise merge.
   * @param b an operand of the type of `a`, or a number, which becomes a constant of that type
   */
  binary(operation: BinaryOperation, a: Operand, b: Operand | number | bigint): Operand {
    const other = this.#operandLike(a, b);
    const emit = (left: Operand, right: Operand): Operand =>
      this.emit(`stablehlo.${operation} ${namesText([left, right])} : ${typeText(a.type)}`, a.type);
    if (!isFloat(dtypeOf(a)) || !isMerged(operation)) return emit(a, other);
    return emitApart(this, this.#traits, operation, [a, other], emit);
  }

  /** Compares elements; the result is bool. If either element is NaN, all comparisons but NE are false. */
  compare(direction: Comparison, a: Operand, b: Operand | number | bigint): Operand {
    const other = this.#operandLike(a, b);
    const operands = [
      this.#notKnown(direction === "GE", a, other),
      this.#notKnown(direction === "LE", other, a),
    ];
    const type: ValueType = { dtype: "bool", shape: shapeOf(a) };
    return this.emit(
      `stablehlo.compare ${direction}, ${namesText(operands)}, ${comparisonType(dtypeOf(a))} : (${typesText(operands)}) -> ${typeText(type)}`,
      type,
    );
  }

  /** @param condition bools of the shape of `yes`, or a scalar */
  select(condition: Operand, yes: Operand, no: Operand | number | bigint): Operand {
    const other = this.#operandLike(yes, no);
    return this.emit(
      `stablehlo.select ${condition.name}, ${yes.name}, ${other.name} : ${typesText([condition, yes])}`,
      yes.type,
    );
  }

  /**
   * Converts as XLA does, which sometimes differs from the operator Cast. Selects 1 or 0 for a bool: XLA would turn
   * x · convert(bool) into a selection, and lose a NaN of x.
   */
  convert(x: Operand, dtype: DType): Operand {
    if (dtypeOf(x) === dtype) return x;
    if (dtypeOf(x) === "bool" && isFloat(dtype)) return this.select(x, this.splat(dtype, 1, shapeOf(x)), 0);
    return this.#from("convert", x, { dtype, shape: shapeOf(x) });
  }

  /** Reinterprets the bits as another dtype of the same width. */
  bitcast(x: Operand, dtype: DType): Operand {
    return this.#from("bitcast_convert", x, { dtype, shape: shapeOf(x) });
  }

  /** Passes operands through a barrier, across which XLA optimizes nothing. */
  barrier(...operands: readonly Operand[]): readonly Operand[] {
    return this.emitMany(
      `stablehlo.optimization_barrier ${namesText(operands)} : ${typesText(operands)}`,
      operands.map(({ type }) => type),
    );
  }

  /**
   * Rounds a float operand to a format that holds all numbers of its dtype. This costs nothing and hides the
   * operand from XLA. The format has one more exponent bit, because XLA would round subnormal constants to 0.
   */
  fence(x: Operand): Operand {
    const { bits, fractionBits } = floatFormats[dtypeOf(x) as FloatDType];
    const format = `e${bits - fractionBits}m${fractionBits}`;
    return this.emit(
      `stablehlo.reduce_precision ${x.name}, format = ${format} : ${typeText(x.type)}`,
      x.type,
    );
  }

  /** Returns x with -0 replaced by +0. */
  positiveZeros(x: Operand): Operand {
    return this.select(this.compare("EQ", x, 0), this.like(x, 0), x);
  }

  // ---- movement

  reshape(x: Operand, shape: Shape): Operand {
    if (sameShape(shapeOf(x), shape)) return x;
    return this.#from("reshape", x, { dtype: dtypeOf(x), shape });
  }

  transpose(x: Operand, permutation: readonly number[]): Operand {
    if (permutation.every((axis, index) => axis === index)) return x;
    const shape = permutation.map((axis) => sizeOf(x, axis));
    return this.#from("transpose", x, { dtype: dtypeOf(x), shape }, `dims = ${listText(permutation)}`);
  }

  /** Repeats `x`. Its axis i becomes axis `axes[i]` of the result, and has that axis's size or size 1. */
  broadcast(x: Operand, shape: Shape, axes: readonly number[]): Operand {
    if (sameShape(shapeOf(x), shape) && axes.every((axis, index) => axis === index)) return x;
    return this.#from("broadcast_in_dim", x, { dtype: dtypeOf(x), shape }, `dims = ${listText(axes)}`);
  }

  /** Repeats `x` by NumPy's rule: the axes of `x` become the last axes of the result. */
  expand(x: Operand, shape: Shape): Operand {
    const before = shape.length - rankOf(x);
    const axes = range(rankOf(x)).map((axis) => axis + before);
    return this.broadcast(x, shape, axes);
  }

  /** The elements from `starts` (included) to `ends` (excluded); steps are positive. */
  slice(x: Operand, starts: readonly number[], ends: readonly number[], steps?: readonly number[]): Operand {
    const parts = starts.map((start, axis) => [start, ends[axis] ?? 0, steps?.[axis] ?? 1] as const);
    const shape = parts.map(([start, end, step]) => Math.max(0, Math.ceil((end - start) / step)));
    if (sameShape(shape, shapeOf(x))) return x;
    const limits = parts.map((part) => part.join(":")).join(", ");
    const type = { dtype: dtypeOf(x), shape };
    const text = `stablehlo.slice ${x.name} [${limits}] : (${typeText(x.type)}) -> ${typeText(type)}`;
    return this.#traits.copy(this.emit(text, type), x);
  }

  /** The elements from `start` (included) to `end` (excluded) of one axis. */
  sliceAxis(x: Operand, axis: number, start: number, end: number): Operand {
    const starts = repeated(0, rankOf(x)).with(axis, start);
    return this.slice(x, starts, shapeOf(x).with(axis, end));
  }

  /** Reverses the elements along each of these axes. */
  reverse(x: Operand, axes: readonly number[]): Operand {
    if (axes.length === 0) return x;
    return this.emit(`stablehlo.reverse ${x.name}, dims = ${listText(axes)} : ${typeText(x.type)}`, x.type);
  }

  concat(operands: readonly Operand[], axis: number): Operand {
    const [first] = operands;
    if (first === undefined) throw new Error("internal: nothing to concatenate");
    if (operands.length === 1) return first;
    const size = operands.reduce((sum, operand) => sum + sizeOf(operand, axis), 0);
    const type = { dtype: dtypeOf(first), shape: shapeOf(first).with(axis, size) };
    return this.emit(
      `stablehlo.concatenate ${namesText(operands)}, dim = ${axis} : (${typesText(operands)}) -> ${typeText(type)}`,
      type,
    );
  }

  /** @param padding a scalar; negative `low` and `high` crop; `interior` is the padding between elements */
  pad(
    x: Operand,
    padding: Operand,
    low: readonly number[],
    high: readonly number[],
    interior: readonly number[] = repeated(0, low.length),
  ): Operand {
    const shape = shapeOf(x).map(
      (size, axis) =>
        size + (low[axis] ?? 0) + (high[axis] ?? 0) + Math.max(0, size - 1) * (interior[axis] ?? 0),
    );
    if (sameShape(shape, shapeOf(x)) && low.every((size) => size === 0)) return x;
    const type = { dtype: dtypeOf(x), shape };
    return this.emit(
      `stablehlo.pad ${namesText([x, padding])}, low = ${listText(low)}, high = ${listText(high)}, interior = ${listText(interior)} : (${typesText([x, padding])}) -> ${typeText(type)}`,
      type,
    );
  }

  // ---- products

  /** Whether products of `x` must ask for the highest precision, without which engines round f32 to TF32. */
  isExact(x: Operand): boolean {
    return dtypeOf(x) === "f32" && !this.options.tf32;
  }

  // ---- indices

  /** Records a scalar bool that is false if an index is out of range. */
  expectInRange(flag: Operand): void {
    this.#inRange.push(flag);
  }

  /** A scalar bool, true if all recorded flags are true; undefined if there are none. */
  indicesInRange(): Operand | undefined {
    const [first, ...others] = this.#inRange;
    return first && others.reduce((all, flag) => this.binary("and", all, flag), first);
  }

  /** Runs `body` with its own list of range flags. @returns its result, and `indicesInRange` of that list */
  withOwnRange<T>(body: () => T): readonly [T, Operand | undefined] {
    const outer = this.#inRange;
    this.#inRange = [];
    const result = body();
    const flag = this.indicesInRange();
    this.#inRange = outer;
    return [result, flag];
  }

  #newName(): string {
    return `%${this.#names++}`;
  }

  /** Fences x in x ≥ 0, because XLA takes |x| ≥ 0 to be true, although it is false for NaN. */
  #notKnown(isAtLeast: boolean, x: Operand, other: Operand): Operand {
    return isAtLeast && isFloat(dtypeOf(x)) && this.isZero(other) ? this.fence(x) : x;
  }

  #operandLike(x: Operand, y: Operand | number | bigint): Operand {
    return typeof y === "object" ? y : this.like(x, y);
  }

  #from(operation: string, x: Operand, type: ValueType, attribute?: string): Operand {
    const attributes = attribute === undefined ? "" : `, ${attribute}`;
    const made = this.emit(
      `stablehlo.${operation} ${x.name}${attributes} : (${typeText(x.type)}) -> ${typeText(type)}`,
      type,
    );
    if (operation === "bitcast_convert") return made;
    // A fence would hide the product of 8-bit codes and their scale, which XLA computes without widening the codes.
    const isByteFloat = isEighth(type.dtype);
    return isByteFloat ? this.#traits.copyRounded(made, x) : this.#traits.copy(made, x);
  }
}
