/** The engine's maxima, minima and searches compare with `<`: NaN is lost, or its place is left to chance. */
import { floatFormats, isComputeFloat } from "@mp/core";
import { int, type NodeWriter } from "@mp/onnx";
import { at, type OwnLowering, operandType } from "./own-lowering.js";

type Extreme = "ReduceMax" | "ReduceMin";
type Search = "ArgMax" | "ArgMin";

/** 1 where x is NaN and 0 elsewhere, f32. */
const marks = (x: string, writer: NodeWriter): string => writer.cast(writer.one("IsNaN", [x]), "f32");

/** Whether any of the marks along those axes is set. */
function anyOf(marked: string, axes: readonly number[], keepdims: boolean, writer: NodeWriter): string {
  const count = writer.one("ReduceSum", [marked, writer.ints(axes)], { keepdims: int(keepdims ? 1 : 0) });
  return writer.one("Greater", [count, writer.scalar(0, "f32")]);
}

/** Puts NaN back where any element was one. */
export const extremeKeepingNaN: OwnLowering<Extreme> = (node, operands, writer, standard) => {
  const { axes, keepdims } = node.attributes;
  if (!isComputeFloat(operandType(node).dtype) || axes.length === 0) return undefined;
  const x = at(operands, 0);
  const anyNaN = anyOf(marks(x, writer), axes, keepdims, writer);
  return [writer.one("Where", [anyNaN, writer.scalar(Number.NaN, "f32"), at(standard(operands), 0)])];
};

/** The first NaN where there is one. */
export const searchFindingNaN: OwnLowering<Search> = (node, operands, writer, standard) => {
  const { axis, keepdims } = node.attributes;
  if (!isComputeFloat(operandType(node).dtype)) return undefined;
  const marked = marks(at(operands, 0), writer);
  const attributes = { axis: int(axis), keepdims: int(keepdims ? 1 : 0) };
  const firstNaN = writer.cast(writer.one("ArgMax", [marked], attributes), "i32");
  const anyNaN = anyOf(marked, [axis], keepdims, writer);
  return [writer.one("Where", [anyNaN, firstNaN, at(standard(operands), 0)])];
};

/** ONNX's number of f64, which is none of the graph's dtypes. */
const DOUBLE = { to: int(11) };
const MAX_F32 = floatFormats.f32.maxFinite;

/** Searches f64 keys that have room beyond f32's infinity: NaN is larger than everything. */
export const topKOrderingNaN: OwnLowering<"TopK"> = (node, operands, writer) => {
  const { axis, k, largest } = node.attributes;
  if (!isComputeFloat(operandType(node).dtype)) return undefined;
  const x = at(operands, 0);
  const double = (name: string): string => writer.one("Cast", [name], DOUBLE);
  const limit = double(writer.scalar(MAX_F32, "f32"));
  const beyond = writer.one("Mul", [limit, double(writer.scalar(2, "f32"))]);
  const farBeyond = writer.one("Mul", [beyond, double(writer.scalar(2, "f32"))]);
  const finite = writer.one("Min", [double(x), beyond]);
  const keys = writer.one("Where", [writer.one("IsNaN", [x]), farBeyond, finite]);
  const search = { axis: int(axis), largest: int(largest ? 1 : 0), sorted: int(1) };
  const indices = at(writer.emit("TopK", [keys, writer.ints([k])], search, { outputs: 2 }), 1);
  return [writer.one("GatherElements", [x, indices], { axis: int(axis) }), writer.cast(indices, "i32")];
};
