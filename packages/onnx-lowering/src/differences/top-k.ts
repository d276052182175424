/**
 * Composes TopK from an engine's sorts. TopK takes NaN for the largest value and keeps equal elements in
 * order; the engine's sorts do neither.
 */
import { type GraphNode, isComputeFloat } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { sort } from "../lowerings/operators.js";
import { at, type OwnLowering, operandType } from "../lowerings/own-lowering.js";

/** Number of nonnegative i32 keys. */
const KEYS = 2 ** 31;

/** The result of a TopK, with indices cast to i32. */
type Sorted = readonly [values: string, places: string];

function sortKeys(keys: string, count: number, largest: boolean, axis: number, writer: NodeWriter): Sorted {
  const [values, places] = sort(keys, count, { axis, largest }, writer);
  return [values, writer.cast(places, "i32")];
}

/** Number of distinct values that are sorted before each element, in the original order. */
function ranks(
  [values, places]: Sorted,
  isSame: (a: string, b: string) => string,
  { shape, axis }: { readonly shape: readonly number[]; readonly axis: number },
  writer: NodeWriter,
): string {
  const size = shape[axis] ?? 0;
  const part = (from: number): string =>
    writer.one("Slice", [values, writer.ints([from]), writer.ints([from + size - 1]), writer.ints([axis])]);
  const none = writer.one("Expand", [
    writer.scalar(0, "i32"),
    writer.ints(shape.map((length, index) => (index === axis ? 1 : length))),
  ]);
  const isNew = writer.cast(writer.one("Not", [isSame(part(0), part(1))]), "i32");
  const counts = writer.one("Concat", [none, isNew], { axis: int(axis) });
  const before = writer.one("CumSum", [counts, writer.scalar(axis, "i64")]);
  const zeros = writer.one("Expand", [writer.scalar(0, "i32"), writer.ints(shape)]);
  return writer.one("ScatterElements", [zeros, places, before], { axis: int(axis) });
}

/** Compares i32 values by whether their difference is 0, because the kernel may round them to f32. */
const sameIntegers =
  (writer: NodeWriter) =>
  (a: string, b: string): string =>
    writer.one("Equal", [writer.one("Sub", [a, b]), writer.scalar(0, "i32")]);

/** Integer keys in [0, 2 · size) that order elements by value alone. */
function valueKeys(node: GraphNode<"TopK">, x: string, writer: NodeWriter): string {
  const { axis, largest } = node.attributes;
  const { dtype, shape } = operandType(node);
  const size = shape[axis] ?? 0;
  if (!isComputeFloat(dtype)) {
    const wide = dtype === "i32" ? x : writer.cast(x, "i32");
    return ranks(sortKeys(wide, size, largest, axis, writer), sameIntegers(writer), { shape, axis }, writer);
  }
  const wide = dtype === "f32" ? x : writer.cast(x, "f32");
  const isNot = writer.one("IsNaN", [wide]);
  const numbers = writer.one("Where", [isNot, writer.scalar(Number.POSITIVE_INFINITY, "f32"), wide]);
  const isSame = (a: string, b: string): string => writer.one("Equal", [a, b]);
  const rank = ranks(sortKeys(numbers, size, largest, axis, writer), isSame, { shape, axis }, writer);
  const mark = writer.cast(largest ? writer.one("Not", [isNot]) : isNot, "i32");
  return writer.one("Add", [writer.one("Add", [rank, rank]), mark]);
}

export const topK: OwnLowering<"TopK"> = (node, operands, writer) => {
  const { axis, k } = node.attributes;
  const { dtype, shape } = operandType(node);
  // 64-bit integers would lose bits as keys, which are i32.
  if (dtype === "i64" || dtype === "u64") return undefined;
  const size = shape[axis] ?? 0;
  const x = at(operands, 0);
  // Splits positions into digits, the highest first, so that each key fits into i32.
  const base = Math.max(2, Math.min(size, Math.floor(KEYS / (2 * Math.max(size, 1)))));
  const column = shape.map((_, index) => (index === axis ? size : 1));
  let keys = valueKeys(node, x, writer);
  let unit = 1;
  while (unit * base < size) unit *= base;
  for (; ; unit /= base) {
    const digits = Array.from({ length: size }, (_, place) => Math.floor(place / unit) % base);
    const digit = writer.one("Reshape", [writer.list(digits, "i32"), writer.ints(column)]);
    keys = writer.one("Add", [writer.one("Mul", [keys, writer.scalar(base, "i32")]), digit]);
    if (unit === 1) break;
    keys = ranks(sortKeys(keys, size, false, axis, writer), sameIntegers(writer), { shape, axis }, writer);
  }
  const [, places] = sortKeys(keys, k, false, axis, writer);
  return [writer.one("GatherElements", [x, places], { axis: int(axis) }), places];
};
