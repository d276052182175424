/**
 * Chooses the axis order in which a node is computed. Nodes after a convolution stay in the engine's order,
 * so that a network of convolutions transposes images only once. Sums over all positions work in any order.
 */
import {
  FAMILIES,
  type GraphNode,
  type Op,
  type OpOf,
  type ReduceOp,
  sameShape,
  type Value,
} from "@mp/graph";
// biome-ignore format: one list
import type { ScopeWriter } from "../graph/scope-writer.js";
import { isOverRows, type Term } from "../graph/term.js";
import {
  channelsLast,
  findChannelsLast,
  lastPlace,
  toChannelsFirst,
  toChannelsLast,
} from "./channels-last.js";
import { type Lowering, type Operands, resultAt } from "./lowering.js";

/** Lowers a node in the engine's axis order; undefined if the graph's order is better. */
type Layout = (lowering: Lowering, ...node: Parameters<Lowering>) => readonly Term[] | undefined;

/** Returns the node with its result shapes in the engine's axis order. */
const turn = (node: GraphNode): GraphNode => ({
  ...node,
  outputs: node.outputs.map((value): Value => ({ ...value, shape: channelsLast(value.shape) })),
});

const turnBack = (results: readonly Term[], node: GraphNode, writer: ScopeWriter): readonly Term[] =>
  results.map((result, index) => toChannelsFirst(result, resultAt(node, index).shape, writer));

/** Uses the engine's order if at least half of the full-size operands already have it. */
const elementwise: Layout = (lowering, node, operands, writer) => {
  const { shape } = resultAt(node);
  const rank = shape.length;
  const whole = operands.filter((operand) => sameShape(operand.shape, shape));
  const there = whole.filter((operand) => findChannelsLast(operand, writer) !== undefined);
  if (rank < 3 || there.length === 0 || there.length < whole.length / 2) return undefined;
  const turned = operands.map((operand) => {
    if (operand.shape.length === 0) return operand;
    const missing = Array<number>(rank - operand.shape.length).fill(1);
    return toChannelsLast(operand.reshape([...missing, ...operand.shape]), writer);
  });
  return turnBack(lowering(turn(node), turned as unknown as Operands, writer), node, writer);
};

/** Uses the engine's order if the result's order is then clear: with keepdims, or without spatial axes. */
const reduction: Layout = (lowering, node, operands, writer) => {
  const { axes, keepdims } = (node as GraphNode<"ReduceSum">).attributes;
  const [{ shape, dtype }] = operands;
  const rank = shape.length;
  const last = findChannelsLast(operands[0], writer);
  const keepsPlaces = shape.some((_, axis) => axis > 1 && !axes.includes(axis));
  if (rank < 3 || last === undefined || (keepsPlaces && !keepdims)) return undefined;
  const moved = axes.map((axis) => lastPlace(axis, rank)).sort((a, b) => a - b);
  const turnedShape = channelsLast(shape);
  // A sum of a half dtype may accumulate in that dtype unless it is over rows; support was decided for the original
  // axes.
  if (isOverRows(shape, axes) !== isOverRows(turnedShape, moved) && dtype !== "f32") return undefined;
  const turned = [writer.at(last.name, { dtype, shape: turnedShape })] as unknown as Operands;
  const attributes = { axes: moved, keepdims };
  const results = lowering({ ...(keepdims ? turn(node) : node), attributes } as GraphNode, turned, writer);
  return keepdims ? turnBack(results, node, writer) : results;
};

const isReduction = (op: OpOf<"reduce">): op is ReduceOp => op.startsWith("Reduce");

const layouts = new Map<Op, Layout>([
  ...[...FAMILIES.unary, ...FAMILIES.binary].map((op) => [op, elementwise] as const),
  ...FAMILIES.reduce.filter(isReduction).map((op) => [op, reduction] as const),
]);

/** Wraps a lowering so that it computes in the axis order of the operands. */
export function inLayout(lowering: Lowering): Lowering {
  return (node, operands, writer) =>
    layouts.get(node.op)?.(lowering, node, operands, writer) ?? lowering(node, operands, writer);
}
