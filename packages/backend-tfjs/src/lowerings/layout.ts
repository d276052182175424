/**
 * The axis order in which a node is computed: nodes after a convolution stay in the engine's order, so that a network
 * of convolutions transposes its images once. Sums over all places work in any order.
 */
import { FAMILIES, type GraphNode, type Op, type OpOf, type ReduceOp, type Value } from "@mp/core/graph";
import type { Lowering, TfWriter } from "../graph/tf-writer.js";
import {
  channelsLast,
  knownChannelsLast,
  lastPlace,
  toChannelsFirst,
  toChannelsLast,
} from "./channels-last.js";
import { isOverRows, operandAt, reshape, resultAt, sameDimensions, typeAt } from "./lowering.js";

/** A lowering in the engine's order; undefined where ours is better for the node. */
type Layout = (lowering: Lowering, ...node: Parameters<Lowering>) => readonly string[] | undefined;

const turned = (value: Value, shape = value.shape): Value => ({ ...value, shape: channelsLast(shape) });

/** Only where at least half of the full-size operands are in that order already. */
const elementwise: Layout = (lowering, node, operands, writer) => {
  const { shape } = resultAt(node);
  const rank = shape.length;
  const isWhole = node.inputs.map((input) => sameDimensions(input.shape, shape));
  const whole = operands.filter((_, index) => isWhole[index]);
  const there = whole.filter((name) => knownChannelsLast(name, writer) !== undefined);
  if (rank < 3 || there.length === 0 || there.length < whole.length / 2) return undefined;
  const inputs = node.inputs.map((input) => {
    const missing = rank - input.shape.length;
    return input.shape.length === 0
      ? input
      : { ...input, shape: [...Array<number>(missing).fill(1), ...input.shape] };
  });
  const given = operands.map((name, index) => {
    const [from, to] = [typeAt(node, index), inputs[index] as Value];
    if (to.shape.length === 0) return name;
    return toChannelsLast(reshape(name, from.dtype, from.shape, to.shape, writer), to, writer);
  });
  const relaid = {
    ...node,
    inputs: inputs.map((input) => (input.shape.length === 0 ? input : turned(input))),
    outputs: node.outputs.map((output) => turned(output)),
  };
  return lowering(relaid, given, writer).map((name, index) =>
    toChannelsFirst(name, resultAt(node, index), writer),
  );
};

/** Without keepdims a layout that is kept would lose the order of its axes: keepdims is required. */
const reduction: Layout = (lowering, node, operands, writer) => {
  const { axes, keepdims } = (node as GraphNode<"ReduceSum">).attributes;
  const input = typeAt(node, 0);
  const rank = input.shape.length;
  const last = knownChannelsLast(operandAt(operands, 0), writer);
  const keepsPlaces = input.shape.some((_, axis) => axis > 1 && !axes.includes(axis));
  if (rank < 3 || last === undefined || (keepsPlaces && !keepdims)) return undefined;
  const outputs = keepdims ? node.outputs.map((output) => turned(output)) : node.outputs;
  const moved = axes.map((axis) => lastPlace(axis, rank)).sort((a, b) => a - b);
  // Sums of halves may accumulate in the half unless they are over rows, and support was decided for the original axes.
  if (isOverRows(input.shape, axes) !== isOverRows(channelsLast(input.shape), moved) && input.dtype !== "f32")
    return undefined;
  const relaid = { ...node, inputs: [turned(input)], outputs, attributes: { axes: moved, keepdims } };
  const names = lowering(relaid as GraphNode, [last], writer);
  return keepdims ? names.map((name, index) => toChannelsFirst(name, resultAt(node, index), writer)) : names;
};

const isReduction = (op: OpOf<"reduce">): op is ReduceOp => op.startsWith("Reduce");

const layouts = new Map<Op, Layout>([
  ...[...FAMILIES.unary, ...FAMILIES.binary].map((op) => [op, elementwise] as const),
  ...FAMILIES.reduce.filter(isReduction).map((op) => [op, reduction] as const),
]);

/** The lowering in the axis order of its operands. */
export function inLayout(lowering: Lowering): Lowering {
  return (node, operands, writer: TfWriter) =>
    layouts.get(node.op)?.(lowering, node, operands, writer) ?? lowering(node, operands, writer);
}
