/**
 * Convolutions with TensorFlow's kernels, which take channels last and filters as [k…, channels, results].
 * 1-D inputs become images of one row. Groups of one channel use depthwise kernels. Other groups are
 * convolved one by one, because not every build of the engine has grouped CPU kernels.
 */

import type { GraphNode, OpOf, Shape, ValueType } from "@mp/graph";
import { int, type } from "../graph/attributes.js";
import type { ScopeWriter } from "../graph/scope-writer.js";
import type { Term } from "../graph/term.js";
import { toChannelsFirst, toChannelsLast } from "./channels-last.js";
import { backToFilter, backToImage, type Convolution, forward } from "./convolution-kernels.js";
import { inF32 } from "./in-f32.js";
import { type Lowering, type LoweringTable, type Operands, resultAt } from "./lowering.js";
import { fillZeros } from "./zeros.js";

/** The shape with at least two spatial axes: [N, C, size] becomes [N, C, 1, size]. */
const withTwoAxes = ({ shape }: ValueType): Shape =>
  shape.length === 3 ? [...shape.slice(0, 2), 1, ...shape.slice(2)] : shape;

interface Plan {
  /** The shape of the weights, channels first. */
  readonly weights: Shape;
  /** The convolution of one group, or of all groups if it is depthwise. */
  readonly part: Convolution;
  /** Number of convolutions like `part`, each for one part of the channels. */
  readonly parts: number;
}

/** Plans the convolution of an image with weights to which the node, forward or gradient, belongs. */
function plan(
  node: GraphNode<OpOf<"convolution">>,
  ...given: readonly [image: ValueType, out: ValueType, weights: ValueType]
): Plan {
  const { strides, pads, dilations, group } = node.attributes as GraphNode<"Conv">["attributes"];
  const [image = [], out = [], weights = []] = given.map(withTwoAxes);
  const [batch = 0, channels = 0, ...sizes] = image;
  const [results = 0] = weights;
  const axes = strides.length;
  const each = (list: readonly number[], otherwise: number): readonly number[] =>
    axes === 1 ? [otherwise, ...list] : list;
  // The engine's depthwise kernels take the same stride along both axes.
  const isDepthwise = group > 1 && group === channels && axes < 3 && new Set(each(strides, 1)).size === 1;
  const parts = isDepthwise ? 1 : group;
  const part: Convolution = {
    dtype: given[0].dtype,
    batch,
    channels: channels / parts,
    results: results / parts,
    image: sizes,
    out: out.slice(2),
    kernel: weights.slice(2),
    strides: each(strides, 1),
    dilations: each(dilations, 1),
    before: each(pads.slice(0, axes), 0),
    after: each(pads.slice(axes), 0),
    isDepthwise,
  };
  return { weights, part, parts };
}

/** Converts a value of the graph for the kernels: channels last, one term for each part. */
function enter(x: Term, plan: Plan, writer: ScopeWriter): readonly Term[] {
  return split(toChannelsLast(x.reshape(withTwoAxes(x)), writer), plan, writer);
}

/** Joins the results of all parts, adds the bias and converts the sum to a value of the graph. */
function leave(
  parts: readonly Term[],
  node: GraphNode,
  [, , bias]: readonly Term[],
  writer: ScopeWriter,
): Term {
  const y = join(parts, writer);
  const whole = bias === undefined ? y : writer.term("BiasAdd", [y, bias], { T: type(y.dtype) }, y);
  const result = resultAt(node);
  return toChannelsFirst(whole, withTwoAxes(result), writer).reshape(result.shape);
}

/**
 * Converts weights [M, C / group, k…] to the filters of all parts; for a depthwise convolution M is [C, M /
 * C]. A gradient reuses the filter that its forward node transposed.
 */
function enterFilter(weights: Term, plan: Plan, writer: ScopeWriter): readonly Term[] {
  const { channels, results, kernel, isDepthwise } = plan.part;
  const filter = writer.remember(`filter ${weights.name} ${isDepthwise} ${channels}`, () => {
    const axes = kernel.map((_, axis) => axis + 2);
    const shape = isDepthwise ? [channels, results / channels, ...kernel] : plan.weights;
    return weights.reshape(shape).transpose(isDepthwise ? [...axes, 0, 1] : [...axes, 1, 0]);
  });
  return split(filter, plan, writer);
}

/** Converts filters of all parts back to weights; undoes `enterFilter`. */
function leaveFilter(parts: readonly Term[], shape: Shape, { part }: Plan, writer: ScopeWriter): Term {
  const rank = part.kernel.length;
  const axes = part.kernel.map((_, axis) => axis);
  const perm = part.isDepthwise ? [rank, rank + 1, ...axes] : [rank + 1, rank, ...axes];
  return join(parts, writer).transpose(perm).reshape(shape);
}

/** Splits the last axis into equal parts. */
function split(x: Term, { parts }: Plan, writer: ScopeWriter): readonly Term[] {
  const { dtype, shape } = x;
  if (parts === 1) return [x];
  const axis = shape.length - 1;
  const attributes = { T: type(dtype), num_split: int(parts) };
  const names = writer.emit("Split", [writer.scalar(axis, "i32"), x], attributes, { outputs: parts });
  const part = { dtype, shape: shape.with(axis, (shape[axis] ?? 0) / parts) };
  return names.map((name) => writer.at(name, part));
}

/** Joins parts along the last axis. */
function join(parts: readonly Term[], writer: ScopeWriter): Term {
  const [first] = parts as readonly [Term];
  if (parts.length === 1) return first;
  const { dtype, shape } = first;
  const axis = shape.length - 1;
  const attributes = { T: type(dtype), Tidx: type("i32"), N: int(parts.length) };
  const whole = { dtype, shape: shape.with(axis, (shape[axis] ?? 0) * parts.length) };
  return writer.term("ConcatV2", [...parts, writer.scalar(axis, "i32")], attributes, whole);
}

const conv: Lowering<"Conv"> = (node, operands, writer) => {
  const [x, weights] = operands;
  const own = plan(node, x, resultAt(node), weights);
  const images = enter(x, own, writer);
  const filters = enterFilter(weights, own, writer);
  const results = images.map((image, index) => forward(image, filters[index] as Term, own.part, writer));
  return [leave(results, node, operands, writer)];
};

const convTranspose: Lowering<"ConvTranspose"> = (node, operands, writer) => {
  const [x, weights] = operands;
  const own = plan(node, { ...resultAt(node), dtype: x.dtype }, x, weights);
  const results = enter(x, own, writer);
  const filters = enterFilter(weights, own, writer);
  const images = results.map((result, index) =>
    backToImage(filters[index] as Term, result, own.part, writer),
  );
  return [leave(images, node, operands, writer)];
};

const convWeightGradient: Lowering<"ConvWeightGradient"> = (node, [x, dy], writer) => {
  const result = resultAt(node);
  if (x.shape[0] === 0) return [fillZeros({ dtype: x.dtype, shape: result.shape }, writer)];
  const own = plan(node, x, dy, result);
  const results = enter(dy, own, writer);
  const filters = enter(x, own, writer).map((image, index) =>
    backToFilter(image, results[index] as Term, own.part, writer),
  );
  return [leaveFilter(filters, result.shape, own, writer)];
};

/** Computes a convolution with a bias in f32, since in a half dtype the engine would round before it adds the bias. */
const unlessBiased = <K extends "Conv" | "ConvTranspose">(lowering: Lowering<K>): Lowering<K> => {
  const wide = inF32(lowering);
  return (node, operands: Operands, writer) =>
    (operands.length > 2 ? wide : lowering)(node, operands, writer);
};

export const convolutionLowerings: LoweringTable<OpOf<"convolution">> = {
  Conv: unlessBiased(conv),
  ConvTranspose: unlessBiased(convTranspose),
  ConvWeightGradient: convWeightGradient,
};
