import { type DType, type FloatDType, hostArrayOf, isEighth, isFloat, isHalf } from "../dtype.js";
import { decode, encode } from "../float-format/bits.js";
import { roundTo } from "../float-format/round.js";
import type { Op, OpAttributes } from "../graph/attributes.js";
import { type Rebuilding, rebuildGraph } from "../graph/build/rebuild.js";
import { FAMILIES } from "../graph/families.js";
import { type AnyNode, type Graph, type GraphNode, isNode, type Value } from "../graph/graph.js";
import { opTable } from "../graph/op-table.js";
import { type HostTensor, tensor } from "../host/host-tensor.js";
import { broadcastShapes, elementCount, type Shape, sameShape } from "../shape.js";

/** Takes a node and its operands in the new graph; returns a value that can replace the node's output, if any. */
type Fold<K extends Op> = (node: GraphNode<K>, inputs: readonly Value[], at: Rebuilding) => Value | undefined;
type FoldTable = { readonly [K in Op]?: Fold<K> };

/**
 * Removes work that changes no bit: Identity, casts that undo a widening, chains of Reshape, Transpose and Expand, x ·
 * 1, x / 1, x - 0 and x + (-0) (not x + 0, which turns -0 into +0), Expand in front of operators that broadcast anyway,
 * nodes whose result has no elements, and arithmetic on scalar constants. Larger values, and values that depend on an
 * engine's rounding, are not computed here.
 */
export function foldConstants(graph: Graph): Graph {
  return rebuildGraph(graph, (node, at) => {
    const [output] = node.outputs;
    if (output === undefined || node.outputs.length > 1) return undefined;
    if (node.op !== "Constant" && output.shape.includes(0))
      return [emitConstant(at, emptyTensor(output), undefined)];
    const inputs = at.counterparts(node.inputs);
    const lean = BROADCASTING.has(node.op) ? withoutExpand(inputs, output.shape, at) : inputs;
    const folded = (folds[node.op] as Fold<Op> | undefined)?.(node, lean, at);
    if (folded !== undefined) return [folded];
    return lean === inputs ? undefined : at.builder.emit(node.op, lean, node.attributes);
  });
}

const BROADCASTING: ReadonlySet<Op> = new Set<Op>(FAMILIES.binary);

function withoutExpand(inputs: readonly Value[], shape: Shape, at: Rebuilding): readonly Value[] {
  let lean = inputs;
  inputs.forEach((input, index) => {
    const source = findSource(input, isExpand, at);
    if (source === input) return;
    const candidate = lean.with(index, source);
    const reached = candidate.map((value) => value.shape).reduce((a, b) => broadcastShapes(a, b, "Expand"));
    if (sameShape(reached, shape)) lean = candidate;
  });
  return lean;
}

const isExpand = (op: Op): boolean => op === "Expand";

/** Follows the operands of nodes with one operand, as long as `follows` accepts the op. */
function findSource(value: Value, follows: (op: Op) => boolean, at: Rebuilding): Value {
  let source = value;
  for (let node = at.producer(source); node !== undefined && follows(node.op); node = at.producer(source)) {
    source = node.inputs[0] as Value;
  }
  return source;
}

/** Replaces a chain of views by one Reshape of its source, or by the source itself. */
const view: Fold<"Reshape" | "Squeeze" | "Unsqueeze"> = (node, [x], at) => {
  const [output] = node.outputs;
  if (x === undefined || output === undefined) return undefined;
  const source = findSource(x, (op) => op !== "Barrier" && opTable[op].moves === "view", at);
  if (sameShape(source.shape, output.shape)) return source;
  const constant = at.constant(source);
  if (constant !== undefined && constant.data.length === 1) {
    const value = Object.freeze({ ...constant, shape: output.shape });
    return emitConstant(at, value, findLiteral(source, at));
  }
  return source === x ? undefined : at.builder.emitOne("Reshape", [source], { shape: output.shape });
};

/** Whether every value of `from` is a value of `to`. */
function isWidening(from: DType, to: DType): boolean {
  return (to === "f32" && isFloat(from)) || (isHalf(to) && isEighth(from));
}

const cast: Fold<"Cast"> = ({ attributes: { to } }, [x], at) => {
  if (x === undefined || x.dtype === to) return x;
  const constant = at.constant(x);
  const number = constant === undefined ? undefined : scalarFloat(constant);
  if (constant !== undefined && number !== undefined && isFloat(to)) {
    return emitConstant(at, floatTensor(to, roundTo(to, number), x.shape), findLiteral(x, at));
  }
  const inner = at.producer(x);
  if (inner === undefined || !isNode(inner, "Cast")) return undefined;
  const [source] = inner.inputs;
  if (source === undefined || !isWidening(source.dtype, x.dtype) || !isFloat(to)) return undefined;
  return source.dtype === to ? source : at.builder.emitOne("Cast", [source], { to });
};

const transpose: Fold<"Transpose"> = ({ attributes: { perm } }, [x], at) => {
  if (x === undefined) return undefined;
  const inner = at.producer(x);
  const isChained = inner !== undefined && isNode(inner, "Transpose");
  const source = isChained ? (inner.inputs[0] as Value) : x;
  const order = isChained ? perm.map((axis) => inner.attributes.perm[axis] as number) : perm;
  if (order.every((axis, index) => axis === index)) return source;
  return isChained ? at.builder.emitOne("Transpose", [source], { perm: order }) : undefined;
};

const expand: Fold<"Expand"> = ({ attributes: { shape } }, [x], at) => {
  if (x === undefined || sameShape(x.shape, shape)) return x;
  const source = findSource(x, isExpand, at);
  return source === x ? undefined : at.builder.emitOne("Expand", [source], { shape });
};

/** Returns x if the other operand is the neutral element, `number`, and does not broadcast x. */
function withoutNeutral(
  x: Value | undefined,
  other: Value | undefined,
  number: number,
  node: AnyNode | GraphNode,
  at: Rebuilding,
): Value | undefined {
  if (x === undefined || other === undefined || !sameShape(x.shape, node.outputs[0]?.shape ?? []))
    return undefined;
  const constant = at.constant(other);
  return constant !== undefined && Object.is(scalarFloat(constant), number) ? x : undefined;
}

interface Arithmetic {
  /** Computes in f64. Rounding this to the dtype is like a single rounding, as 53 ≥ 2 · 24 + 2 bits (Figueroa 1995). */
  readonly compute: (a: number, b: number) => number;
  /** The neutral element as the right operand. */
  readonly neutral: number;
  /** Whether `neutral` is also neutral as the left operand. */
  readonly isCommutative: boolean;
}

const arithmeticFold =
  <K extends "Add" | "Sub" | "Mul" | "Div">({ compute, neutral, isCommutative }: Arithmetic): Fold<K> =>
  (node, [a, b], at) => {
    if (a === undefined || b === undefined) return undefined;
    const kept =
      withoutNeutral(a, b, neutral, node, at) ??
      (isCommutative ? withoutNeutral(b, a, neutral, node, at) : undefined);
    if (kept !== undefined) return kept;
    const [x, y] = [at.constant(a), at.constant(b)];
    const [left, right] = [x && scalarFloat(x), y && scalarFloat(y)];
    const [output] = node.outputs;
    if (left === undefined || right === undefined || output === undefined || !isFloat(output.dtype))
      return undefined;
    const exactly = [findLiteral(a, at), findLiteral(b, at)];
    const result = roundTo(output.dtype, compute(left, right));
    const literal =
      exactly[0] === undefined || exactly[1] === undefined ? undefined : compute(exactly[0], exactly[1]);
    return emitConstant(at, floatTensor(output.dtype, result, output.shape), literal);
  };

const folds: FoldTable = {
  Identity: (_node, [x]) => x,
  Reshape: view,
  Squeeze: view,
  Unsqueeze: view,
  Cast: cast,
  Transpose: transpose,
  Expand: expand,
  Add: arithmeticFold({ compute: (a, b) => a + b, neutral: -0, isCommutative: true }),
  Sub: arithmeticFold({ compute: (a, b) => a - b, neutral: 0, isCommutative: false }),
  Mul: arithmeticFold({ compute: (a, b) => a * b, neutral: 1, isCommutative: true }),
  Div: arithmeticFold({ compute: (a, b) => a / b, neutral: 1, isCommutative: false }),
};

/** The number in a floating constant with one element; undefined for other constants. */
function scalarFloat({ dtype, data }: HostTensor): number | undefined {
  if (data.length !== 1 || !isFloat(dtype)) return undefined;
  const stored = Number(data[0]);
  return dtype === "f32" ? stored : decode(dtype, stored);
}

function findLiteral(value: Value, at: Rebuilding): number | undefined {
  const node = at.producer(value);
  return node !== undefined && isNode(node, "Constant") ? node.attributes.literal : undefined;
}

function floatTensor(dtype: FloatDType, number: number, shape: Shape): HostTensor {
  const data = new hostArrayOf[dtype](elementCount(shape, "Constant"));
  data[0] = dtype === "f32" ? number : encode(dtype, number);
  return tensor(data as never, shape, dtype) as HostTensor;
}

const emptyTensor = ({ dtype, shape }: Value): HostTensor =>
  tensor(new hostArrayOf[dtype](0) as never, shape, dtype) as HostTensor;

function emitConstant(at: Rebuilding, value: HostTensor, literal: number | undefined): Value {
  const attributes: OpAttributes["Constant"] = literal === undefined ? { value } : { value, literal };
  return at.builder.emitOne("Constant", [], attributes);
}
