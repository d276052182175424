/** What the engine lacks for u64 and bool, done in what it has. */
import type { GraphNode, Op } from "@mp/core";
import { int, ints, type NodeWriter } from "@mp/onnx";
import { at, type OwnLowering, operandType } from "./own-lowering.js";

type Sum = "ReduceSum" | "ReduceProd";
type Extreme = "ReduceMax" | "ReduceMin";
type Search = "ArgMax" | "ArgMin";

const isU64 = (node: GraphNode): boolean => operandType(node).dtype === "u64";

/**
 * The engine sums and multiplies integers in f64, exact up to 2^53 only. Folding one half onto the other until one
 * element is left keeps to the dtype, and wraps as it does.
 */
export const foldedInHalves: OwnLowering<Sum> = (node, [x = ""], writer, standard) => {
  const { dtype, shape } = operandType(node);
  const { axes } = node.attributes;
  const size = axes.reduce((product, axis) => product * (shape[axis] ?? 1), 1);
  if (dtype !== "i32" && dtype !== "i64" && dtype !== "u64") return undefined;
  if (axes.length === 0) return [writer.one("Identity", [x])];
  // Nothing to fold, and the engine has no sum of u64.
  if (size === 0) return [writer.cast(at(standard([writer.cast(x, "i64")], "i64"), 0), dtype)];
  const kept = shape.flatMap((_, axis) => (axes.includes(axis) ? [] : [axis]));
  const rows = kept.reduce((product, axis) => product * (shape[axis] ?? 1), 1);
  const front = writer.one("Transpose", [x], { perm: ints([...axes, ...kept]) });
  let folded = writer.one("Reshape", [front, writer.ints([size, rows])], { allowzero: int(1) });
  const part = (from: number, to: number): string =>
    writer.one("Slice", [folded, writer.ints([from]), writer.ints([to]), writer.ints([0])]);
  for (let left = size; left > 1; left = Math.ceil(left / 2)) {
    const half = left >> 1;
    const both = writer.one(node.op === "ReduceSum" ? "Add" : "Mul", [part(0, half), part(half, 2 * half)]);
    folded = left % 2 === 0 ? both : writer.one("Concat", [both, part(2 * half, left)], { axis: int(0) });
  }
  const result = writer.ints(node.outputs[0]?.shape ?? []);
  return [writer.one("Reshape", [folded, result], { allowzero: int(1) })];
};

/** Half the range further on, the order of u64 is that of i64. */
function shifted(x: string, writer: NodeWriter): string {
  return writer.one("Add", [x, writer.scalar(2 ** 63, "u64")]);
}

const signed = (x: string, writer: NodeWriter): string => writer.cast(shifted(x, writer), "i64");
const unsigned = (x: string, writer: NodeWriter): string => shifted(writer.cast(x, "u64"), writer);

export const extremeAsSigned: OwnLowering<Extreme> = (node, [x = ""], writer, standard) =>
  isU64(node) ? [unsigned(at(standard([signed(x, writer)], "i64"), 0), writer)] : undefined;

export const searchAsSigned: OwnLowering<Search> = (node, [x = ""], writer, standard) =>
  isU64(node) ? standard([signed(x, writer)], "i64") : undefined;

export const topKAsSigned: OwnLowering<"TopK"> = (node, [x = ""], writer, standard) => {
  if (!isU64(node)) return undefined;
  const results = standard([signed(x, writer)], "i64");
  return [unsigned(at(results, 0), writer), at(results, 1)];
};

export const chosen: OwnLowering<"Where"> = (node, [condition = "", x = "", y = ""], writer, standard) => {
  const dtype = node.inputs[1]?.dtype;
  if (dtype === "u64") {
    const results = standard([condition, writer.cast(x, "i64"), writer.cast(y, "i64")], "i64");
    return [writer.cast(at(results, 0), "u64")];
  }
  if (dtype !== "bool") return undefined;
  const otherwise = writer.one("And", [writer.one("Not", [condition]), y]);
  return [writer.one("Or", [writer.one("And", [condition, x]), otherwise])];
};

/** One of several own lowerings: the first that answers. */
export function firstOf<K extends Op>(...lowerings: readonly OwnLowering<K>[]): OwnLowering<K> {
  return (node, operands, writer, standard) => {
    for (const lower of lowerings) {
      const results = lower(node, operands, writer, standard);
      if (results !== undefined) return results;
    }
    return undefined;
  };
}
