/**
 * Finds extremes and sorts. The provider's kernels give positions as 64-bit integers, which few other kernels
 * can read; a lookup in an i32 list of all positions converts them. The provider's sort keeps the order of
 * equal elements.
 */
import { type ArgOp, type DType, floatFormats, isComputeFloat, type Shape } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { sort, upTo } from "../lowerings/operators.js";
import { at, type OwnLowering, operandType } from "../lowerings/own-lowering.js";
import { gatherElements } from "./indexing.js";

/** The position of the first NaN if there is one, else of the first extreme. */
export const search: OwnLowering<ArgOp> = (node, operands, writer) => {
  const { dtype, shape } = operandType(node);
  const { axis, keepdims } = node.attributes;
  const all = writer.list(upTo(shape[axis] ?? 1), "i32");
  const attributes = { axis: int(axis), keepdims: int(keepdims ? 1 : 0) };
  const findPlace = (op: ArgOp, x: string): string =>
    writer.one("Gather", [all, writer.one(op, [x], attributes)], { axis: int(0) });
  const x = at(operands, 0);
  const place = findPlace(node.op, dtype === "u8" ? writer.cast(x, "i32") : x);
  if (!isComputeFloat(dtype)) return [place];
  const marks = writer.cast(writer.one("IsNaN", [x]), "f32");
  const most = writer.one("ReduceMax", [marks, writer.ints([axis])], { keepdims: int(keepdims ? 1 : 0) });
  const isAny = writer.one("Greater", [most, writer.scalar(0, "f32")]);
  return [writer.one("Where", [isAny, findPlace("ArgMax", marks), place])];
};

const LARGEST = floatFormats.f32.maxFinite;
const BELOW_LARGEST = LARGEST - 2 ** 104;

/** Keys for successive sorts, the least significant key first. */
function sortKeys(x: string, dtype: DType, writer: NodeWriter): readonly string[] {
  if (isComputeFloat(dtype)) {
    const wide = writer.cast(x, "f32");
    const isNumber = writer.one("Equal", [wide, wide]);
    // The kernel fills rows up with the largest or the lowest finite number, so neither may be a key.
    const bounds = [BELOW_LARGEST, -BELOW_LARGEST].map((bound) => writer.scalar(bound, "f32"));
    const within = writer.one("Max", [writer.one("Min", [wide, at(bounds, 0)]), at(bounds, 1)]);
    const countPassed = (order: "Greater" | "Less", limits: readonly number[]): string => {
      const marks = limits.map((limit) =>
        writer.cast(writer.one(order, [wide, writer.scalar(limit, "f32")]), "f32"),
      );
      return writer.one("Add", [at(marks, 0), at(marks, 1)]);
    };
    const above = countPassed("Greater", [BELOW_LARGEST, LARGEST]);
    const below = countPassed("Less", [-BELOW_LARGEST, -LARGEST]);
    const rank = writer.one("Sub", [above, below]);
    return [
      writer.one("Where", [isNumber, within, writer.scalar(0, "f32")]),
      writer.one("Where", [isNumber, rank, writer.scalar(3, "f32")]),
    ];
  }
  if (dtype !== "i32") return [writer.cast(x, "f32")];
  // The 16-bit halves of each word, which f32 holds exactly.
  const half = writer.scalar(2 ** 16, "i32");
  const low = writer.one("Mod", [x, half], { fmod: int(0) });
  const high = writer.one("Div", [writer.one("Sub", [x, low]), half]);
  return [low, high].map((name) => writer.cast(name, "f32"));
}

/** The k largest or smallest elements; NaN is larger than every number. */
export const topK: OwnLowering<"TopK"> = (node, operands, writer) => {
  const { axis, k, largest } = node.attributes;
  const { dtype, shape } = operandType(node);
  const x = at(operands, 0);
  const size = shape[axis] ?? 0;
  const along = (value: string, places: string): string =>
    writer.one("GatherElements", [value, places], { axis: int(axis) });
  const keys = sortKeys(x, dtype, writer);
  let order = placesAlong(shape, axis, writer);
  keys.forEach((key, index) => {
    const count = index === keys.length - 1 ? k : size;
    const moved = index === 0 ? key : along(key, writer.cast(order, "i32"));
    order = along(order, sort(moved, count, { axis, largest }, writer)[1]);
  });
  const places = writer.cast(order, "i32");
  const chosen = { name: places, shape: node.outputs[0]?.shape ?? [] };
  return [gatherElements({ name: x, shape, dtype }, chosen, axis, writer), places];
};

/** Each element's position along the axis, as f32. */
function placesAlong(shape: Shape, axis: number, writer: NodeWriter): string {
  const numbers = writer.list(upTo(shape[axis] ?? 0), "f32");
  const column = writer.ints(shape.map((_, index) => (index === axis ? (shape[axis] ?? 0) : 1)));
  return writer.one("Expand", [writer.one("Reshape", [numbers, column]), writer.ints(shape)]);
}
