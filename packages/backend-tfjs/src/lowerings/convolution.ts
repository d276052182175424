/**
 * Convolutions with TensorFlow's kernels, which take channels last and filters as [k…, channels, results]. 1-D inputs
 * are images of one row. Groups are convolved one by one, except groups of one channel, which have depthwise kernels:
 * not every build of the engine has grouped kernels on the CPU.
 */

import type { Shape } from "@mp/core";
import type { GraphNode, OpOf } from "@mp/core/graph";
import { int, type Lowering, type LoweringTable, type TfWriter, type } from "../graph/tf-writer.js";
import { toChannelsFirst, toChannelsLast } from "./channels-last.js";
import { backToFilter, backToImage, type Convolution, forward } from "./convolution-kernels.js";
import { operandAt, reshape, resultAt, transposed, typeAt } from "./lowering.js";
import { inF32 } from "./twins.js";
import { zerosOf } from "./zeros.js";

/** The tensor to convolve, the result, and the weights, all channels first; 1-D ones with an inserted axis of 1. */
interface Roles {
  readonly image: Shape;
  readonly out: Shape;
  readonly weights: Shape;
}

/** [N, C, size] as [N, C, 1, size]. */
const lifted = (shape: Shape): Shape =>
  shape.length === 3 ? [...shape.slice(0, 2), 1, ...shape.slice(2)] : shape;

const roles: { readonly [K in OpOf<"convolution">]: (node: GraphNode<K>) => Roles } = {
  Conv: (node) => ({
    image: lifted(typeAt(node, 0).shape),
    out: lifted(resultAt(node).shape),
    weights: lifted(typeAt(node, 1).shape),
  }),
  ConvTranspose: (node) => ({
    image: lifted(resultAt(node).shape),
    out: lifted(typeAt(node, 0).shape),
    weights: lifted(typeAt(node, 1).shape),
  }),
  ConvWeightGradient: (node) => ({
    image: lifted(typeAt(node, 0).shape),
    out: lifted(typeAt(node, 1).shape),
    weights: lifted(resultAt(node).shape),
  }),
};

interface Plan extends Roles {
  /** One group, or all of them for a depthwise convolution. */
  readonly part: Convolution;
  /** How many of those there are. */
  readonly parts: number;
}

function planOf<K extends OpOf<"convolution">>(node: GraphNode<K>): Plan {
  const { strides, pads, dilations, group } = node.attributes as GraphNode<"Conv">["attributes"];
  const { image, out, weights } = roles[node.op](node);
  const [batch = 0, channels = 0, ...sizes] = image;
  const [results = 0] = weights;
  const axes = strides.length;
  const each = (list: readonly number[], otherwise: number): readonly number[] =>
    axes === 1 ? [otherwise, ...list] : list;
  // The engine's depthwise kernels take the same stride along both axes.
  const isDepthwise = group > 1 && group === channels && axes < 3 && new Set(each(strides, 1)).size === 1;
  const parts = isDepthwise ? 1 : group;
  const part: Convolution = {
    dtype: resultAt(node).dtype,
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
  return { image, out, weights, part, parts };
}

/** A value of the graph as the kernels take it. */
function entering(name: string, from: Shape, { part: { dtype } }: Plan, writer: TfWriter): string {
  const shape = lifted(from);
  return toChannelsLast(reshape(name, dtype, from, shape, writer), { dtype, shape }, writer);
}

function leaving(name: string, to: Shape, { part: { dtype } }: Plan, writer: TfWriter): string {
  const shape = lifted(to);
  return reshape(toChannelsFirst(name, { dtype, shape }, writer), dtype, shape, to, writer);
}

/** By the name of what they were made from: a gradient reads the filter that its forward node has transposed. */
const filters = new WeakMap<TfWriter, Map<string, string>>();

/** [M, C / group, k…] as a filter; for a depthwise convolution M is [C, M / C]. */
function toFilter(name: string, from: Shape, plan: Plan, writer: TfWriter): string {
  const turned = filters.get(writer) ?? new Map<string, string>();
  filters.set(writer, turned);
  const { isDepthwise, channels } = plan.part;
  const key = `${name} ${isDepthwise} ${channels}`;
  const filter = turned.get(key) ?? turn(name, from, plan, writer);
  turned.set(key, filter);
  return filter;
}

function turn(name: string, from: Shape, { weights, part }: Plan, writer: TfWriter): string {
  const { dtype, channels, results, kernel, isDepthwise } = part;
  const axes = kernel.map((_, axis) => axis + 2);
  const shape = isDepthwise ? [channels, results / channels, ...kernel] : weights;
  const perm = isDepthwise ? [...axes, 0, 1] : [...axes, 1, 0];
  return transposed(reshape(name, dtype, from, shape, writer), dtype, perm, writer);
}

function fromFilter(name: string, to: Shape, { weights, part }: Plan, writer: TfWriter): string {
  const { dtype, channels, results, kernel, isDepthwise } = part;
  const rank = kernel.length;
  const axes = kernel.map((_, axis) => axis);
  const perm = isDepthwise ? [rank, rank + 1, ...axes] : [rank + 1, rank, ...axes];
  const shape = isDepthwise ? [channels, results / channels, ...kernel] : weights;
  const turned = transposed(name, dtype, perm, writer);
  return reshape(turned, dtype, shape, to, writer);
}

/** Splits the last axis into equal parts. */
function split(name: string, { parts, part }: Plan, writer: TfWriter): readonly string[] {
  if (parts === 1) return [name];
  const axis = writer.scalar(part.kernel.length + 1, "i32");
  const attributes = { T: type(part.dtype), num_split: int(parts) };
  return writer.emit("Split", [axis, name], attributes, { outputs: parts });
}

function joined(names: readonly string[], { part }: Plan, writer: TfWriter): string {
  const [only = ""] = names;
  if (names.length === 1) return only;
  return writer.one("ConcatV2", [...names, writer.scalar(part.kernel.length + 1, "i32")], {
    T: type(part.dtype),
    Tidx: type("i32"),
    N: int(names.length),
  });
}

/** Adds one number per channel to a channels-last tensor. */
function biased(name: string, operands: readonly string[], { part }: Plan, writer: TfWriter): string {
  const bias = operands[2];
  return bias === undefined ? name : writer.one("BiasAdd", [name, bias], { T: type(part.dtype) });
}

const conv: Lowering<"Conv"> = (node, operands, writer) => {
  const plan = planOf(node);
  const images = split(entering(operandAt(operands, 0), typeAt(node, 0).shape, plan, writer), plan, writer);
  const filters = split(toFilter(operandAt(operands, 1), typeAt(node, 1).shape, plan, writer), plan, writer);
  const results = images.map((image, index) => forward(image, filters[index] ?? "", plan.part, writer));
  const y = biased(joined(results, plan, writer), operands, plan, writer);
  return [leaving(y, resultAt(node).shape, plan, writer)];
};

const convTranspose: Lowering<"ConvTranspose"> = (node, operands, writer) => {
  const plan = planOf(node);
  const results = split(entering(operandAt(operands, 0), typeAt(node, 0).shape, plan, writer), plan, writer);
  const filters = split(toFilter(operandAt(operands, 1), typeAt(node, 1).shape, plan, writer), plan, writer);
  const images = results.map((result, index) => backToImage(filters[index] ?? "", result, plan.part, writer));
  const y = biased(joined(images, plan, writer), operands, plan, writer);
  return [leaving(y, resultAt(node).shape, plan, writer)];
};

const convWeightGradient: Lowering<"ConvWeightGradient"> = (node, operands, writer) => {
  if (typeAt(node, 0).shape[0] === 0) return [zerosOf(resultAt(node), writer)];
  const plan = planOf(node);
  const enter = (index: number): readonly string[] =>
    split(entering(operandAt(operands, index), typeAt(node, index).shape, plan, writer), plan, writer);
  const results = enter(1);
  const filters = enter(0).map((image, index) =>
    backToFilter(image, results[index] ?? "", plan.part, writer),
  );
  return [fromFilter(joined(filters, plan, writer), resultAt(node).shape, plan, writer)];
};

/** The engine rounds a convolution to its dtype before the bias is added. */
const unlessBiased = <K extends "Conv" | "ConvTranspose">(lowering: Lowering<K>): Lowering<K> => {
  const wide = inF32(lowering);
  return (node, operands, writer) => (operands.length > 2 ? wide : lowering)(node, operands, writer);
};

export const convolutionLowerings: LoweringTable<OpOf<"convolution">> = {
  Conv: unlessBiased(conv),
  ConvTranspose: unlessBiased(convTranspose),
  ConvWeightGradient: convWeightGradient,
};
