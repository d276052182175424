/**
 * Restores NaN in maxima, minima and searches. The engine compares with `<`, so it loses NaN or returns an
 * arbitrary position. The engine's log-sum-exp starts from such a maximum too.
 */
import { type ArgOp, floatFormats, type GraphNode, isComputeFloat, isNode, type ScatterOp } from "@mp/graph";
import { int, type NodeWriter, string } from "@mp/onnx/write";
import { inF32 } from "./in-f32.js";
import type { ProducerOf } from "./lower-node.js";
import { sort } from "./operators.js";
import { at, type OwnLowering, operandType, type Standard } from "./own-lowering.js";

type Extreme = "ReduceMax" | "ReduceMin" | "ReduceLogSumExp";

/** 1 where x is NaN, else 0, as f32. */
const marks = (x: string, writer: NodeWriter): string => writer.cast(writer.one("IsNaN", [x]), "f32");

/** Whether any of the f32 marks along these axes is nonzero. */
export function anyMarked(
  marked: string,
  axes: readonly number[],
  keepdims: boolean,
  writer: NodeWriter,
): string {
  const count = writer.one("ReduceSum", [marked, writer.ints(axes)], { keepdims: int(keepdims ? 1 : 0) });
  return writer.one("Greater", [count, writer.scalar(0, "f32")]);
}

/**
 * Subtracts the largest element first. The engine's own log-sum-exp subtracts 0 if the first element is
 * infinite, and then loses all elements below -104.
 */
function logSumExp(
  node: GraphNode<"ReduceLogSumExp">,
  x: string,
  writer: NodeWriter,
  standard: Standard,
): string {
  const { axes, keepdims } = node.attributes;
  return inF32(node, x, writer, (wide) => {
    const largest = (kept: boolean): string => {
      const most = writer.one("ReduceMax", [wide, writer.ints(axes)], { keepdims: int(kept ? 1 : 0) });
      return writer.one("Where", [writer.one("IsInf", [most]), writer.scalar(0, "f32"), most]);
    };
    const below = at(standard([writer.one("Sub", [wide, largest(true)])], "f32"), 0);
    return writer.one("Add", [below, largest(keepdims)]);
  });
}

/** Makes a maximum, minimum or log-sum-exp NaN where any of its elements is NaN. */
export const extremeKeepingNaN: OwnLowering<Extreme> = (node, operands, writer, standard) => {
  const { axes, keepdims } = node.attributes;
  const { dtype } = operandType(node);
  if (!isComputeFloat(dtype) || axes.length === 0) return undefined;
  const x = at(operands, 0);
  const anyNaN = anyMarked(marks(x, writer), axes, keepdims, writer);
  const reduced = isNode(node, "ReduceLogSumExp")
    ? logSumExp(node, x, writer, standard)
    : at(standard(operands), 0);
  return [writer.one("Where", [anyNaN, writer.scalar(Number.NaN, dtype), reduced])];
};

/** Makes the largest of some magnitudes NaN where any of them is, and only there their sum is. */
export const largestMagnitude =
  (producerOf: ProducerOf): OwnLowering<"ReduceMax"> =>
  (node, operands, writer, standard) => {
    const { axes, keepdims } = node.attributes;
    const { dtype } = operandType(node);
    if (dtype !== "f32" || axes.length === 0 || producerOf(operandType(node))?.op !== "Abs") return undefined;
    const attributes = { keepdims: int(keepdims ? 1 : 0) };
    const sum = writer.one("ReduceSum", [at(operands, 0), writer.ints(axes)], attributes);
    const parts = [writer.one("IsNaN", [sum]), writer.scalar(Number.NaN, dtype), at(standard(operands), 0)];
    return [writer.one("Where", parts)];
  };

/** Makes the result of a max or min scatter NaN where the data or an update is NaN. */
export const scatterKeepingNaN: OwnLowering<ScatterOp> = (node, operands, writer, standard) => {
  const { attributes } = node;
  const { dtype } = operandType(node);
  const isExtreme = attributes.reduction === "max" || attributes.reduction === "min";
  if (!isExtreme || !isComputeFloat(dtype)) return undefined;
  const [data, updates] = [marks(at(operands, 0), writer), marks(at(operands, 2), writer)];
  const place = at(operands, 1);
  const reduction = string("max");
  const marked =
    "axis" in attributes
      ? writer.one("ScatterElements", [data, place, updates], { axis: int(attributes.axis), reduction })
      : writer.one("ScatterND", [data, writer.cast(place, "i64"), updates], { reduction });
  const hasNaN = writer.one("Greater", [marked, writer.scalar(0, "f32")]);
  return [writer.one("Where", [hasNaN, writer.scalar(Number.NaN, dtype), at(standard(operands), 0)])];
};

/** Returns the position of the first NaN if there is one, else the engine's result. */
export const searchFindingNaN: OwnLowering<ArgOp> = (node, operands, writer, standard) => {
  const { axis, keepdims } = node.attributes;
  if (!isComputeFloat(operandType(node).dtype)) return undefined;
  const marked = marks(at(operands, 0), writer);
  const attributes = { axis: int(axis), keepdims: int(keepdims ? 1 : 0) };
  const firstNaN = writer.cast(writer.one("ArgMax", [marked], attributes), "i32");
  const anyNaN = anyMarked(marked, [axis], keepdims, writer);
  return [writer.one("Where", [anyNaN, firstNaN, at(standard(operands), 0)])];
};

/** Attributes of a Cast to f64, ONNX's element type 11; graphs have no such dtype. */
const DOUBLE = { to: int(11) };
const MAX_F32 = floatFormats.f32.maxFinite;

const double = (name: string, writer: NodeWriter): string => writer.one("Cast", [name], DOUBLE);

/** ±2 times the largest f32 number, in f64. */
export function beyondNumbers(sign: 1 | -1, writer: NodeWriter): string {
  const limit = double(writer.scalar(sign * MAX_F32, "f32"), writer);
  return writer.one("Mul", [limit, double(writer.scalar(2, "f32"), writer)]);
}

/** Converts f32 to f64 keys for sorting: infinity exceeds every f32 number, and NaN exceeds infinity. */
export function doubleKeys(x: string, writer: NodeWriter): string {
  const beyond = beyondNumbers(1, writer);
  const farBeyond = writer.one("Mul", [beyond, double(writer.scalar(2, "f32"), writer)]);
  const finite = writer.one("Min", [double(x, writer), beyond]);
  return writer.one("Where", [writer.one("IsNaN", [x]), farBeyond, finite]);
}

export const topKOrderingNaN: OwnLowering<"TopK"> = (node, operands, writer) => {
  const { axis, k, largest } = node.attributes;
  if (!isComputeFloat(operandType(node).dtype)) return undefined;
  const x = at(operands, 0);
  const [, indices] = sort(doubleKeys(x, writer), k, { axis, largest }, writer);
  return [writer.one("GatherElements", [x, indices], { axis: int(axis) }), writer.cast(indices, "i32")];
};
