/**
 * Orders 64-bit integers. On x64 the engine's Sign, Min, Max, Clip, ReduceMax and ReduceMin of i64 compare
 * the low words as signed if the high words are equal, so that 2147483648 is less than 5. (ORT's Eigen is
 * built for SSE2, which has no 64-bit comparison.) ORT's comparison ops and TopK are right.
 */
import type { DType, GraphNode } from "@mp/graph";
import { clipBounds, type NodeWriter } from "@mp/onnx/write";
import { choose, toSigned, toUnsigned } from "./integers.js";
import { sort } from "./operators.js";
import { at, type OwnLowering, operandType } from "./own-lowering.js";
import { reductionMatrix } from "./reduction-matrix.js";

const isWide = (node: GraphNode): boolean => ["i64", "u64"].includes(operandType(node).dtype);

/** The smaller of x and y if `less` is "Less", the larger if it is "Greater". */
const further = (less: "Less" | "Greater", x: string, y: string, dtype: DType, writer: NodeWriter): string =>
  choose([writer.one(less, [x, y]), x, y], dtype, writer);

export const extremeOfTwo =
  (less: "Less" | "Greater"): OwnLowering<"Min" | "Max"> =>
  (node, [x = "", y = ""], writer) =>
    isWide(node) ? [further(less, x, y, operandType(node).dtype, writer)] : undefined;

export const clipInOrder: OwnLowering<"Clip"> = (node, operands, writer) => {
  if (!isWide(node)) return undefined;
  const { dtype } = operandType(node);
  const { min, max } = clipBounds(dtype, node.attributes);
  let x = at(operands, 0);
  if (min !== undefined) x = further("Greater", x, writer.scalar(min, dtype), dtype, writer);
  if (max !== undefined) x = further("Less", x, writer.scalar(max, dtype), dtype, writer);
  return [x];
};

export const signInOrder: OwnLowering<"Sign"> = (node, operands, writer) => {
  if (!isWide(node)) return undefined;
  const zero = writer.scalar(0, "i64");
  const [above, below] = (["Greater", "Less"] as const).map((order) =>
    writer.cast(writer.one(order, [at(operands, 0), zero]), "i64"),
  ) as [string, string];
  return [writer.one("Sub", [above, below])];
};

/** Sorts along the merged reduced axes and takes the first element. */
export const extremeOfWideIntegers: OwnLowering<"ReduceMax" | "ReduceMin"> = (node, [x = ""], writer) => {
  const { dtype } = operandType(node);
  if (!isWide(node)) return undefined;
  if (node.attributes.axes.length === 0) return [writer.one("Identity", [x])];
  const { matrix, result } = reductionMatrix(node, writer);
  const rows = matrix(dtype === "u64" ? toSigned(x, writer) : x, "last");
  const [first] = sort(rows, 1, { axis: 1, largest: node.op === "ReduceMax" }, writer);
  return [dtype === "u64" ? toUnsigned(result(first), writer) : result(first)];
};
