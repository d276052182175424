/** Operators that move integers do the same with each half. */
import { type AnyNode, type GraphNode, isNode, type Op, type OpOf, type Value } from "@mp/core/graph";
import { type Carrier, isWords, type WordRule, type WordRules } from "./rule.js";
import { type WordBuilder, wordsOf } from "./words.js";

type Half = "low" | "high";

/** The attributes; a number that fills a pad is split into words; the halves have its words. */
function attributesOf(node: AnyNode, half: Half): AnyNode["attributes"] {
  if (!isNode(node, "Pad")) return node.attributes;
  const value = wordsOf(BigInt(Math.trunc(node.attributes.value)))[half];
  return { ...node.attributes, value };
}

/** The node on one half of each operand that is in words. */
function onHalf(
  node: AnyNode,
  operands: readonly Carrier[],
  half: Half,
  words: WordBuilder,
): readonly Value[] {
  const values = operands.map((operand) => {
    if (!isWords(operand)) return operand;
    const pair = words.halves(operand);
    return words.full(pair[half], pair.shape);
  });
  return words.emit(node.op as Op, values, attributesOf(node, half));
}

const onEachHalf: WordRule = (node: GraphNode, operands, words) => {
  const [lows, highs] = (["low", "high"] as const).map((half) =>
    onHalf(node as AnyNode, operands, half, words),
  );
  return node.outputs.map(({ shape }, index) =>
    words.pair(shape, lows?.[index] as Value, highs?.[index] as Value),
  );
};

type Mover = OpOf<"movement"> | "Gather" | "GatherElements" | "GatherND";

const MOVERS: readonly Mover[] = [
  "Reshape", "Transpose", "Slice", "Concat", "Split", "Expand", "Squeeze", "Unsqueeze", "Pad", "Tile",
  "Gather", "GatherElements", "GatherND",
]; // biome-ignore format: one list

export const movementRules: WordRules<Mover> = Object.fromEntries(MOVERS.map((op) => [op, onEachHalf]));
