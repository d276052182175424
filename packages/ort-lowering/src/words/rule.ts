import type { GraphNode, Op, Value } from "@mp/core/graph";
import type { Pair, WordBuilder, Words } from "./words.js";

/** The value in place of an operand or a result: words for the 64-bit dtypes, its counterpart for the others. */
export type Carrier = Value | Words;

export const isWords = (carrier: Carrier): carrier is Words => "kind" in carrier;

/** @returns what stands for the node's results, in order */
export type WordRule<K extends Op = Op> = (
  node: GraphNode<K>,
  operands: readonly Carrier[],
  words: WordBuilder,
) => readonly Carrier[];

/** How each operator of 64-bit integers is computed in words. An operator without a rule is refused. */
export type WordRules<O extends Op = Op> = { readonly [K in O]?: WordRule<K> };

/** The two halves of a 64-bit operand. */
export function pairAt(operands: readonly Carrier[], index: number, words: WordBuilder): Pair {
  const operand = operands[index];
  if (operand === undefined || !isWords(operand))
    throw new Error(`internal: operand ${index} is not in words`);
  return words.halves(operand);
}

/** An operand of another dtype. */
export function valueAt(operands: readonly Carrier[], index: number): Value {
  const operand = operands[index];
  if (operand === undefined || isWords(operand)) throw new Error(`internal: operand ${index} is in words`);
  return operand;
}

export const isSigned = (node: GraphNode, index = 0): boolean => node.inputs[index]?.dtype === "i64";
