import { broadcastShapes, type DType, type Shape, sameShape, tensor, type ValueType } from "@mp/graph";
import { bool, int, type TfAttributes, type } from "./attributes.js";

/** An input of a node: the name of a result, or a term. */
export type Input = string | { readonly name: string };

/** The functions of a writer that terms use. */
export interface TermWriter {
  /** Names of results known to hold only +0; a sum need not read them. */
  readonly zeros: Set<string>;
  term(op: string, inputs: readonly Input[], attributes: TfAttributes, type: ValueType): Term;
  constant(value: ReturnType<typeof tensor>): Term;
  ints(values: readonly number[]): Term;
  scalar(value: number, dtype: DType): Term;
}

/**
 * Attributes that keep TensorFlow's graph optimizer from regrouping sums and products by laws that rounding breaks: (x
 * + a) - a would become x, and overflows would appear or vanish. The optimizer takes nodes with these attributes for
 * already optimized. It also moves constants, so the writer hides them.
 */
const asWritten: TfAttributes = {
  _grappler_ArithmeticOptimizer_MinimizeBroadcasts: bool(true),
  _grappler_ArithmeticOptimizer_AddOpsRewriteStage: bool(true),
};

const REGROUPED: ReadonlySet<string> = new Set(["AddV2", "Mul"]);
const GIVES_BOOL = /Equal$|^Greater$|^Less$|^Is/;

/** A value in the graph that is being written. Each method appends nodes and returns their result. */
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

  /** Applies an op whose only attribute is the operands' dtype. Numbers become scalars, shapes broadcast. */
  op(name: string, ...others: readonly (Term | number)[]): Term {
    const { dtype } = this;
    const operands = [this, ...others.map((other) => this.#operand(other))];
    const shape = broadcastAll(operands, name);
    const attributes = { T: type(dtype), ...(REGROUPED.has(name) ? asWritten : {}) };
    return this.writer.term(name, expandIfFar(operands, shape), attributes, {
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

  /** Selects `yes` where this bool is true, else `no`. */
  select(yes: Term, no: Term | number): Term {
    const other = yes.#operand(no);
    const operands = [this, yes, other];
    const shape = broadcastAll(operands, "select");
    const attributes = { T: type(yes.dtype) };
    return this.writer.term("SelectV2", expandIfFar(operands, shape), attributes, { ...yes.#type, shape });
  }

  get #type(): ValueType {
    return { dtype: this.dtype, shape: this.shape };
  }

  /** Repeats this term along its axes of size 1 up to `shape`, four axes at a time if no kernel repeats all axes. */
  expand(shape: Shape): Term {
    const { dtype, writer } = this;
    if (sameShape(this.shape, shape)) return this;
    if (!isNear([this.shape], shape)) {
      const own = [...shape.slice(this.shape.length).map(() => 1), ...this.shape];
      const first = own.findLastIndex((size, axis) => size !== shape[axis]) - 3;
      return this.expand([...own.slice(0, first), ...shape.slice(first)]).expand(shape);
    }
    const attributes = { T: type(dtype), Tidx: type("i32") };
    return writer.term("BroadcastTo", [this, writer.ints(shape)], attributes, { dtype, shape });
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

  /** Like `transpose`, but if only axes of size 1 move, a reshape without a copy. */
  moveAxes(perm: readonly number[]): Term {
    const long = perm.filter((axis) => this.shape[axis] !== 1);
    const isMoved = long.some((axis, index) => index > 0 && axis < (long[index - 1] ?? 0));
    return isMoved ? this.transpose(perm) : this.reshape(perm.map((axis) => this.shape[axis] ?? 1));
  }

  /** The part of this shape that starts at index `begin`. */
  slice(begin: readonly number[], shape: Shape): Term {
    const { dtype, writer } = this;
    const attributes = { T: type(dtype), Index: type("i32") };
    return writer.term("Slice", [this, writer.ints(begin), writer.ints(shape)], attributes, { dtype, shape });
  }

  /** Elements from `begin` to `end`, `strides` apart. Bits of `openEnds` mark axes sliced to the end. */
  stridedSlice([begin, end, strides]: SliceBounds, shape: Shape, openEnds = 0): Term {
    const { dtype, writer } = this;
    const bounds = [begin, end, strides].map((list) => writer.ints(list));
    return writer.term("StridedSlice", [this, ...bounds], strideAttributes(dtype, openEnds), {
      dtype,
      shape,
    });
  }

  /**
   * Pads each axis before and after with `value`. Uses `PadV2`, because TensorFlow's optimizer fuses a `Pad` into a
   * Conv3D that reads it, and then fails if another node reads it too.
   */
  pad(widths: readonly (readonly [before: number, behind: number])[], value: number): Term {
    if (widths.flat().every((width) => width === 0)) return this;
    const { dtype, writer } = this;
    const pairs = writer.constant(tensor(Int32Array.from(widths.flat()), [widths.length, 2]));
    const attributes = { T: type(dtype), Tpaddings: type("i32") };
    const shape = this.shape.map((size, axis) => size + (widths[axis] ?? []).reduce((a, b) => a + b, 0));
    return writer.term("PadV2", [this, pairs, writer.scalar(value, dtype)], attributes, { dtype, shape });
  }

  /** Gathers slices at indices along `axis`; this term and the indices may share leading batch axes. */
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

  /** Gathers slices at coordinates. The coordinates of one slice lie along the last axis of `places`. */
  gatherNd(places: Term): Term {
    const { dtype, writer } = this;
    const attributes = { Tparams: type(dtype), Tindices: type("i32") };
    const shape = [...places.shape.slice(0, -1), ...this.shape.slice(places.shape.at(-1) ?? 0)];
    return writer.term("GatherNd", [this, places], attributes, { dtype, shape });
  }

  /** Reduces axes; if all these axes have size 1, only reshapes. */
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
    // or a logarithm returns for a smaller element, and overflows where it negates the lowest integer. It does not look
    // through a Reshape.
    const hidden = this.reshape([1, ...this.shape]);
    const all = writer.ints([0, ...axes.map((axis) => axis + 1)]);
    const without = { ...attributes, keep_dims: bool(false) };
    return writer.term(op, [hidden, all], without, { dtype, shape: reduced }).reshape(shape);
  }
}

/**
 * Whether the engine has a kernel that broadcasts these shapes to `shape`. The engine merges neighboring axes that
 * broadcast alike, and then takes at most five axes.
 */
function isNear(shapes: readonly Shape[], shape: Shape): boolean {
  const patterns = shape.flatMap((size, axis) => {
    const repeats = shapes.map((own) => own[axis - shape.length + own.length] !== size);
    return size === 1 ? [] : [repeats.join()];
  });
  return patterns.filter((pattern, index) => pattern !== patterns[index - 1]).length <= 5;
}

/** Expands operands to `shape`, which they broadcast to, if the engine has no kernel that broadcasts them. */
export function expandIfFar(operands: readonly Term[], shape: Shape): readonly Term[] {
  const shapes = operands.map((operand) => operand.shape);
  return isNear(shapes, shape) ? operands : operands.map((operand) => operand.expand(shape));
}

const broadcastAll = (operands: readonly Term[], name: string): Shape =>
  operands.reduce<Shape>((all, { shape }) => broadcastShapes(all, shape, name), []);

export type SliceBounds = readonly [
  begin: readonly number[],
  end: readonly number[],
  strides: readonly number[],
];

/** Attributes of a strided slice. Bit i of `openEnds` slices axis i to its end, of `dropped` removes it. */
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
 * Whether a sum adds all rows of a matrix. BiasAddGrad computes such a sum several times as fast as Sum, but
 * does not accumulate bf16 in f32.
 */
export function isOverRows(shape: Shape, axes: readonly number[]): boolean {
  return (
    shape.length > 1 && axes.length === shape.length - 1 && !axes.includes(axes.length) && !shape.includes(0)
  );
}
