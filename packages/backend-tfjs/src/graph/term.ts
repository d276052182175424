import { broadcastShapes, type DType, type Shape, sameShape, tensor, type ValueType } from "@mp/graph";
import { bool, int, type TfAttributes, type } from "./attributes.js";

/** An input of a node: the name of a result, or a term. */
export type Input = string | { readonly name: string };

/** The functions of a writer that its terms use. */
export interface TermWriter {
  /** Names of results known to hold only +0, which a sum need not read. */
  readonly zeros: Set<string>;
  term(op: string, inputs: readonly Input[], attributes: TfAttributes, type: ValueType): Term;
  constant(value: ReturnType<typeof tensor>): Term;
  ints(values: readonly number[]): Term;
  scalar(value: number, dtype: DType): Term;
}

/**
 * Markers that keep TensorFlow's graph optimizer from regrouping sums and products by laws that rounding breaks: (x +
 * a) - a would become x, and overflows appear or vanish. It takes marked nodes for already optimized. Constants,
 * which it moves for other reasons, are hidden by the writer.
 */
const asWritten: TfAttributes = {
  _grappler_ArithmeticOptimizer_MinimizeBroadcasts: bool(true),
  _grappler_ArithmeticOptimizer_AddOpsRewriteStage: bool(true),
};

const REGROUPED: ReadonlySet<string> = new Set(["AddV2", "Mul"]);
const GIVES_BOOL = /Equal$|^Greater$|^Less$|^Is/;

/** A value in the graph that is being written. Methods append nodes and return their results. */
export class Term implements ValueType {
  readonly writer: TermWriter;
  /** `node` or `node:1`, as in a GraphDef. */
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;

  constructor(writer: TermWriter, name: string, { dtype, shape }: ValueType) {
    this.writer = writer;
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
  }

  get isZero(): boolean {
    return this.writer.zeros.has(this.name);
  }

  /** Applies an op whose only attribute is its operands' dtype; numbers become scalars, shapes broadcast. */
  op(name: string, ...others: readonly (Term | number)[]): Term {
    const { dtype } = this;
    const operands = [this, ...others.map((other) => this.#operand(other))];
    const shape = operands.reduce<Shape>((all, { shape }) => broadcastShapes(all, shape, name), []);
    const attributes = { T: type(dtype), ...(REGROUPED.has(name) ? asWritten : {}) };
    return this.writer.term(name, operands, attributes, {
      dtype: GIVES_BOOL.test(name) ? "bool" : dtype,
      shape,
    });
  }

  add(other: Term | number): Term {
    return this.op("AddV2", other);
  }

  sub(other: Term | number): Term {
    return this.op("Sub", other);
  }

  mul(other: Term | number): Term {
    return this.op("Mul", other);
  }

  div(other: Term | number): Term {
    return this.op("RealDiv", other);
  }

  #operand(other: Term | number): Term {
    return typeof other === "number" ? this.writer.scalar(other, this.dtype) : other;
  }

  /** `yes` where this bool is true, else `no`. */
  select(yes: Term, no: Term | number): Term {
    const other = yes.#operand(no);
    const shape = [yes, other].reduce((all, { shape }) => broadcastShapes(all, shape, "select"), this.shape);
    return this.writer.term("SelectV2", [this, yes, other], { T: type(yes.dtype) }, { ...yes.#type, shape });
  }

  get #type(): ValueType {
    return { dtype: this.dtype, shape: this.shape };
  }

  cast(to: DType): Term {
    if (to === this.dtype) return this;
    const { dtype, shape } = this;
    return this.writer.term("Cast", [this], { SrcT: type(dtype), DstT: type(to) }, { dtype: to, shape });
  }

  /** Reinterprets the bits as a dtype of the same width. */
  bitcast(to: DType): Term {
    const attributes = { T: type(this.dtype), type: type(to) };
    return this.writer.term("Bitcast", [this], attributes, { dtype: to, shape: this.shape });
  }

  /** Reshapes without a copy; returns this term if the shape stays the same. */
  reshape(shape: Shape): Term {
    const { dtype } = this;
    if (sameShape(this.shape, shape)) return this;
    const attributes = { T: type(dtype), Tshape: type("i32") };
    return this.writer.term("Reshape", [this, this.writer.ints(shape)], attributes, { dtype, shape });
  }

  /** Permutes the axes to the order `perm`. */
  transpose(perm: readonly number[]): Term {
    const { dtype } = this;
    const shape = perm.map((axis) => this.shape[axis] ?? 1);
    const attributes = { T: type(dtype), Tperm: type("i32") };
    return this.writer.term("Transpose", [this, this.writer.ints(perm)], attributes, { dtype, shape });
  }

  /** Like `transpose`, but without a copy, by a reshape, if only axes of size 1 move. */
  moveAxes(perm: readonly number[]): Term {
    const long = perm.filter((axis) => this.shape[axis] !== 1);
    const isMoved = long.some((axis, index) => index > 0 && axis < (long[index - 1] ?? 0));
    return isMoved ? this.transpose(perm) : this.reshape(perm.map((axis) => this.shape[axis] ?? 1));
  }

  /** The part of that shape that starts at `begin`. */
  slice(begin: readonly number[], shape: Shape): Term {
    const { dtype, writer } = this;
    const attributes = { T: type(dtype), Index: type("i32") };
    return writer.term("Slice", [this, writer.ints(begin), writer.ints(shape)], attributes, { dtype, shape });
  }

  /** Every `strides`-th element from `begin` up to `end`; bits of `openEnds` mark axes sliced to their end. */
  stridedSlice([begin, end, strides]: SliceBounds, shape: Shape, openEnds = 0): Term {
    const { dtype, writer } = this;
    const bounds = [begin, end, strides].map((list) => writer.ints(list));
    return writer.term("StridedSlice", [this, ...bounds], strideAttributes(dtype, openEnds), {
      dtype,
      shape,
    });
  }

  /**
   * Pads each axis before and after with a number. Uses `PadV2`: TensorFlow's optimizer fuses a `Pad` into the Conv3D
   * that reads it, and fails if another node reads it too.
   */
  pad(widths: readonly (readonly [before: number, behind: number])[], value: number): Term {
    if (widths.flat().every((width) => width === 0)) return this;
    const { dtype, writer } = this;
    const pairs = writer.constant(tensor(Int32Array.from(widths.flat()), [widths.length, 2]));
    const attributes = { T: type(dtype), Tpaddings: type("i32") };
    const shape = this.shape.map((size, axis) => size + (widths[axis] ?? []).reduce((a, b) => a + b, 0));
    return writer.term("PadV2", [this, pairs, writer.scalar(value, dtype)], attributes, { dtype, shape });
  }

  /** Gathers slices at indices along an axis; both may have `batchDims` leading batch axes. */
  gather(indices: Term, axis: number, batchDims = 0): Term {
    const { dtype, writer } = this;
    const attributes = {
      Tparams: type(dtype),
      Tindices: type("i32"),
      Taxis: type("i32"),
      batch_dims: int(batchDims),
    };
    const own = this.shape;
    const shape = [...own.slice(0, axis), ...indices.shape.slice(batchDims), ...own.slice(axis + 1)];
    return writer.term("GatherV2", [this, indices, writer.scalar(axis, "i32")], attributes, { dtype, shape });
  }

  /** Gathers slices at coordinates, which lie along the last axis of `places`. */
  gatherNd(places: Term): Term {
    const { dtype, writer } = this;
    const attributes = { Tparams: type(dtype), Tindices: type("i32") };
    const shape = [...places.shape.slice(0, -1), ...this.shape.slice(places.shape.at(-1) ?? 0)];
    return writer.term("GatherNd", [this, places], attributes, { dtype, shape });
  }

  /** Reduces axes; if all of them have size 1, it only reshapes. */
  reduce(op: "Sum" | "Mean" | "Max" | "Min" | "Prod", axes: readonly number[], keepdims: boolean): Term {
    const { dtype, writer } = this;
    const whole = this.shape.map((dimension, axis) => (axes.includes(axis) ? 1 : dimension));
    const reduced = this.shape.filter((_, axis) => !axes.includes(axis));
    const shape = keepdims ? whole : reduced;
    if (axes.every((axis) => this.shape[axis] === 1)) return this.reshape(shape);
    if (op === "Sum" && dtype === "f32" && isOverRows(this.shape, axes)) {
      const columns = this.shape.slice(-1);
      const sum = writer.term("BiasAddGrad", [this], { T: type(dtype) }, { dtype, shape: columns });
      return sum.reshape(shape);
    }
    const attributes = { T: type(dtype), Tidx: type("i32"), keep_dims: bool(keepdims) };
    if (op !== "Max" && op !== "Min")
      return writer.term(op, [this, writer.ints(axes)], attributes, { dtype, shape });
    // TensorFlow's graph optimizer moves a maximum before an increasing function. That drops the NaN that a square root
    // or a logarithm returns for a smaller element, and negates the lowest integer. It does not look through a Reshape.
    const hidden = this.reshape([1, ...this.shape]);
    const all = writer.ints([0, ...axes.map((axis) => axis + 1)]);
    const without = { ...attributes, keep_dims: bool(false) };
    return writer.term(op, [hidden, all], without, { dtype, shape: reduced }).reshape(shape);
  }
}

export type SliceBounds = readonly [
  begin: readonly number[],
  end: readonly number[],
  strides: readonly number[],
];

/** Attributes of a strided slice; bits of the masks mark axes. */
export const strideAttributes = (dtype: DType, openEnds = 0, dropped = 0): TfAttributes => ({
  T: type(dtype),
  Index: type("i32"),
  begin_mask: int(0),
  end_mask: int(openEnds),
  ellipsis_mask: int(0),
  new_axis_mask: int(0),
  shrink_axis_mask: int(dropped),
});

/**
 * Whether a sum adds all rows of a matrix. Column sums are several times as fast as BiasAddGrad, which does not
 * accumulate bf16 in f32.
 */
export function isOverRows(shape: Shape, axes: readonly number[]): boolean {
  return (
    shape.length > 1 && axes.length === shape.length - 1 && !axes.includes(axes.length) && !shape.includes(0)
  );
}
