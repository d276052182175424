/** Integer and bool ops that the engine lacks or gets wrong, composed of ops that it gets right. */

import { type ArgOp, type DType, decode, type GraphNode, type HostTensor, isComputeFloat } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import type { ConstantOf } from "./division.js";
import { at, type OwnLowering, operandType } from "./own-lowering.js";
import { reductionMatrix } from "./reduction-matrix.js";
import type { Target } from "./target.js";

type Sum = "ReduceSum" | "ReduceProd";

const isU64 = (node: GraphNode): boolean => operandType(node).dtype === "u64";
const FOLDED: readonly DType[] = ["i32", "i64", "u64", "u8"];

/**
 * Adds or multiplies the two halves of the elements until one element is left. This stays in the dtype and wraps; the
 * engine reduces integers in f64, which is exact only up to 2^53, and saturates.
 */
export const foldInHalves: OwnLowering<Sum> = (node, [x = ""], writer) => {
  const { dtype } = operandType(node);
  if (!FOLDED.includes(dtype)) return undefined;
  const { size, matrix, result } = reductionMatrix(node, writer);
  if (node.attributes.axes.length === 0) return [writer.one("Identity", [x])];
  let folded = matrix(x, "first");
  const part = (from: number, to: number): string =>
    writer.one("Slice", [folded, writer.ints([from]), writer.ints([to]), writer.ints([0])]);
  for (let left = size; left > 1; left = Math.ceil(left / 2)) {
    const half = left >> 1;
    const both = writer.one(node.op === "ReduceSum" ? "Add" : "Mul", [part(0, half), part(half, 2 * half)]);
    folded = left % 2 === 0 ? both : writer.one("Concat", [both, part(2 * half, left)], { axis: int(0) });
  }
  return [result(folded)];
};

/** Adds 2^63, so that a cast to i64 keeps the order of u64. The sum wraps, so a second call undoes the first. */
const shift = (x: string, writer: NodeWriter): string =>
  writer.one("Add", [x, writer.scalar(2 ** 63, "u64")]);

/** Casts u64 to i64 so that the order is kept. */
export const toSigned = (x: string, writer: NodeWriter): string => writer.cast(shift(x, writer), "i64");
/** Undoes `toSigned`. */
export const toUnsigned = (x: string, writer: NodeWriter): string => shift(writer.cast(x, "u64"), writer);

export const searchAsSigned: OwnLowering<ArgOp> = (node, [x = ""], writer, standard) =>
  isU64(node) ? standard([toSigned(x, writer)], "i64") : undefined;

export const topKAsSigned: OwnLowering<"TopK"> = (node, [x = ""], writer, standard) => {
  if (!isU64(node)) return undefined;
  const results = standard([toSigned(x, writer)], "i64");
  return [toUnsigned(at(results, 0), writer), at(results, 1)];
};

/** `x` where the condition holds, else `y`; the engine has no Where for u64 and bool. */
export function choose(
  [condition, x, y]: readonly [string, string, string],
  dtype: DType,
  writer: NodeWriter,
): string {
  if (dtype === "bool") {
    const otherwise = writer.one("And", [writer.one("Not", [condition]), y]);
    return writer.one("Or", [writer.one("And", [condition, x]), otherwise]);
  }
  if (dtype !== "u64") return writer.one("Where", [condition, x, y]);
  const moved = [x, y].map((name) => writer.cast(name, "i64"));
  return writer.cast(writer.one("Where", [condition, ...moved]), "u64");
}

/** Whether the value is a constant without -0. */
const hasNoNegativeZero = (value: HostTensor | undefined): boolean =>
  value !== undefined && numbersIn(value).every((x) => !Object.is(x, -0));

function numbersIn({ dtype, data }: HostTensor): readonly number[] {
  if (dtype === "f32") return Array.from(data as Float32Array);
  return dtype === "f16" || dtype === "bf16"
    ? Array.from(data as Uint16Array, (bits) => decode(dtype, bits))
    : [];
}

/**
 * Keeps the sign of -0. On the CPU the engine's Where adds the chosen elements of x and y, which loses a -0
 * of x. If x may hold -0, the operands are swapped. If y may hold -0 too, two Where nodes choose x and y as
 * second operand, and Min joins them.
 */
export const chooseKeepingZeros =
  (constantOf: ConstantOf, { device }: Pick<Target, "device">): OwnLowering<"Where"> =>
  (node, [condition = "", x = "", y = ""], writer) => {
    const [, first, second] = node.inputs;
    if (first === undefined || second === undefined) return undefined;
    const { dtype } = first;
    if (dtype === "u64" || dtype === "bool") return [choose([condition, x, y], dtype, writer)];
    if (device !== "cpu" || !isComputeFloat(dtype)) return undefined;
    if (hasNoNegativeZero(constantOf(first))) return undefined;
    const not = writer.one("Not", [condition]);
    if (hasNoNegativeZero(constantOf(second))) return [writer.one("Where", [not, y, x])];
    const above = writer.scalar(Number.POSITIVE_INFINITY, dtype);
    const chosen = [writer.one("Where", [not, above, x]), writer.one("Where", [condition, above, y])];
    return [writer.one("Min", chosen)];
  };
