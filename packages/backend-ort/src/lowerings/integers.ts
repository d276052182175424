/** What the engine lacks for u64 and bool, done in what it has. */
import type { GraphNode, Op } from "@mp/core";
import type { NodeWriter } from "@mp/onnx";
import { at, type OwnLowering, operandType } from "./own-lowering.js";

type Sum = "ReduceSum" | "ReduceProd";
type Extreme = "ReduceMax" | "ReduceMin";
type Search = "ArgMax" | "ArgMin";

const isU64 = (node: GraphNode): boolean => operandType(node).dtype === "u64";

/** Sums and products wrap at 2^64 in either dtype. */
export const sumAsSigned: OwnLowering<Sum> = (node, [x = ""], writer, standard) =>
  isU64(node) ? [writer.cast(at(standard([writer.cast(x, "i64")], "i64"), 0), "u64")] : undefined;

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
