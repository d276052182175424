/**
 * Convolutions on the CPU. In the engine's blocked layout they take half the time or less, including conversions. A
 * transposed convolution with stride 1 becomes a convolution with flipped kernels, which the engine computes two to
 * four times as fast.
 */
import { type GraphNode, type OpAttributes, type Shape, windowExtent } from "@mp/graph";
import type { NodeWriter } from "@mp/onnx/write";
import { blockedConv, fromBlocks, padToBlocks, toBlocks, wholeBlocks } from "./blocked-layout.js";
import { convAttributes, product, reshape, reverse, transpose } from "./operators.js";
import { at, type OwnLowering, type OwnLoweringsOf } from "./own-lowering.js";
import type { Target } from "./target.js";

type Window = OpAttributes["Conv"];

/** Kernels in the graph's layout: [M, C / group, k…], or [C, M / group, k…] if `isTransposed`. */
export interface Weights {
  readonly name: string;
  /** Channels that each kernel spans. */
  readonly channels: number;
  /** Result channels per group. */
  readonly results: number;
  readonly kernel: Shape;
  readonly group: number;
  /** Whether the convolution is transposed, so that the kernels must be flipped. */
  readonly isTransposed: boolean;
}

const operandShape = (node: GraphNode, index: number): Shape => node.inputs[index]?.shape ?? [];

/** Describes the weights of a transposed convolution. */
export function transposedWeights(node: GraphNode<"ConvTranspose">, name: string): Weights {
  const { group } = node.attributes;
  const [total = 0, results = 0, ...kernel] = operandShape(node, 1);
  return { name, channels: total / group, results, kernel, group, isTransposed: true };
}

/** Whether the engine has a blocked form: 2-D, at least one block of results, groups of whole blocks. */
function isBlocked({ channels, results, kernel, group }: Weights, block: number): boolean {
  if (kernel.length !== 2 || results < block) return false;
  // The conversion into blocks needs a multiple of four channels.
  if (group === 1) return channels < block || channels % 4 === 0;
  return channels % block === 0 && results % block === 0;
}

const isOfEachChannel = ({ channels, results, group, kernel }: Weights, block: number): boolean =>
  kernel.length === 2 && channels === 1 && results === 1 && group > 1 && group % block === 0;

/** Reorders weights to [M / B, C / B, k…, B of C, B of M], or [M / B, C, k…, B of M] for fewer channels than B. */
function weightsInBlocks(weights: Weights, block: number, writer: NodeWriter): string {
  const { channels, results, kernel, group, isTransposed } = weights;
  const taps = product(kernel);
  const spanned = channels < block ? channels : wholeBlocks(channels, block);
  const made = wholeBlocks(results, block);
  const [outer, inner] = channels < block ? [channels, 1] : [spanned / block, block];
  const sizes = isTransposed
    ? [group, outer, inner, made / block, block, taps]
    : [group, made / block, block, outer, inner, taps];
  const perm = isTransposed ? [0, 3, 1, 5, 2, 4] : [0, 1, 3, 5, 4, 2];
  const whole = reshape(padWeights(weights, [spanned, made], writer), sizes, writer);
  const moved = transpose(whole, perm, writer);
  const turned = isTransposed ? reverse(moved, 3, taps, writer) : moved;
  return reshape(turned, [group * made, spanned, ...kernel], writer);
}

/** Pads weights with zeros to `spanned` channels and `made` results. Only ungrouped weights may need this. */
function padWeights(
  { name, channels, results, kernel, isTransposed }: Weights,
  [spanned, made]: readonly [number, number],
  writer: NodeWriter,
): string {
  if (spanned === channels && made === results) return name;
  const missing = isTransposed ? [spanned - channels, made - results] : [made - results, spanned - channels];
  const none = [0, ...kernel.map(() => 0), 0];
  return writer.one("Pad", [name, writer.ints([...none, ...missing, ...kernel.map(() => 0)])]);
}

/** Reorders the weights of a depthwise convolution to [C / B, 1, k…, B]. */
function channelWeights(weights: Weights, block: number, writer: NodeWriter): string {
  const { name, kernel, group, isTransposed } = weights;
  const taps = product(kernel);
  const moved = transpose(reshape(name, [group / block, block, taps], writer), [0, 2, 1], writer);
  const turned = isTransposed ? reverse(moved, 1, taps, writer) : moved;
  return reshape(turned, [group, 1, ...kernel], writer);
}

/** Computes the convolution in the blocked layout; undefined if the engine has no blocked form for it. */
function inBlocks(
  weights: Weights,
  [x = "", bias]: readonly (string | undefined)[],
  window: Window,
  { blockSize: block }: Target,
  writer: NodeWriter,
): string | undefined {
  if (block === undefined) return undefined;
  const { channels, results, kernel, group } = weights;
  const isDepthwise = isOfEachChannel(weights, block);
  if (!isDepthwise && !isBlocked(weights, block)) return undefined;
  const total = results * group;
  const image = channels < block && !isDepthwise ? x : toBlocks(x, writer);
  const kernels = (isDepthwise ? channelWeights : weightsInBlocks)(weights, block, writer);
  const operands = bias === undefined ? [] : [padToBlocks(bias, [total], 0, block, writer)];
  const y = blockedConv([image, kernels, ...operands], kernel, window, writer);
  return fromBlocks(y, total, writer);
}

const conv =
  (target: Target): OwnLowering<"Conv"> =>
  (node, operands, writer) => {
    const { group } = node.attributes;
    const [total = 0, channels = 0, ...kernel] = operandShape(node, 1);
    const weights = { name: at(operands, 1), channels, results: total / group, kernel, group };
    // The blocked kernel divides by the number of images.
    if (operandShape(node, 0)[0] === 0) return undefined;
    const image = [at(operands, 0), operands[2]];
    const y = inBlocks({ ...weights, isTransposed: false }, image, node.attributes, target, writer);
    return y === undefined ? undefined : [y];
  };

/** Weights of the equivalent convolution: [C, M / group, k…] becomes [M, C / group, k…] with flipped kernels. */
export function flipKernels(weights: Weights, writer: NodeWriter): string {
  const { name, channels, results, kernel, group } = weights;
  const taps = product(kernel);
  const byTap = transpose(reshape(name, [group, channels, results, taps], writer), [0, 3, 2, 1], writer);
  const turned = transpose(reverse(byTap, 1, taps, writer), [0, 2, 3, 1], writer);
  return reshape(turned, [group * results, channels, ...kernel], writer);
}

const convTranspose =
  (target: Target): OwnLowering<"ConvTranspose"> =>
  (node, operands, writer) => {
    const { strides, pads, dilations, group } = node.attributes;
    const weights = transposedWeights(node, at(operands, 1));
    const { kernel } = weights;
    const reach = kernel.map((size, axis) => (size - 1) * (dilations[axis] ?? 1));
    const around = pads.map((pad, index) => (reach[index % kernel.length] ?? 0) - pad);
    if (target.device !== "cpu" || strides.some((stride) => stride > 1) || around.some((pad) => pad < 0))
      return undefined;
    const window = { strides, pads: around, dilations, group };
    const x = at(operands, 0);
    const isEmpty = operandShape(node, 0)[0] === 0;
    const blocked = isEmpty ? undefined : inBlocks(weights, [x, operands[2]], window, target, writer);
    if (blocked !== undefined) return [blocked];
    const given = [x, flipKernels(weights, writer), ...operands.slice(2)];
    return writer.emit("Conv", given, convAttributes(kernel, window));
  };

/**
 * Computes the weight gradient as a convolution. The gradient sums over images and positions, a convolution over
 * channels and taps. So image channels act as the batch, images as channels and dy as kernels, and strides and
 * dilations change roles. Images and results are padded with zeros to whole blocks.
 */
const convWeightGradient =
  ({ blockSize: block }: Target): OwnLowering<"ConvWeightGradient"> =>
  (node, operands, writer) => {
    const { strides, pads, dilations, group, kernelShape } = node.attributes;
    const [xShape, dyShape] = [operandShape(node, 0), operandShape(node, 1)];
    const [images = 0, channels = 0, height = 0, width = 0] = xShape;
    const [, results = 0, ...out] = dyShape;
    if (block === undefined || group > 1 || out.length !== 2) return undefined;
    if (2 * images < block || 2 * results < block) return undefined;
    const batch = wholeBlocks(images, block);
    const x = padToBlocks(at(operands, 0), xShape, 0, block, writer);
    const dy = padToBlocks(
      padToBlocks(at(operands, 1), dyShape, 0, block, writer),
      [batch, results, ...out],
      1,
      block,
      writer,
    );
    const kernels = gradientAsKernels(dy, [batch, wholeBlocks(results, block), ...out], block, writer);
    const lines = toBlocks(reshape(x, [1, batch, channels * height, width], writer), writer);
    const byImage = reshape(lines, [batch / block, channels, height * width * block], writer);
    const rows = reshape(
      swapFirst(byImage, batch / block, channels, writer),
      [(channels * batch) / block, height, width * block],
      writer,
    );
    // The extent that gives exactly one result per tap; the rest, which no kernel reached, is cropped.
    const [tall = 0, wide = 0] = kernelShape.map(
      (size, axis) =>
        ((out[axis] ?? 1) - 1) * (strides[axis] ?? 1) + windowExtent(size, dilations[axis] ?? 1),
    );
    const [top = 0, left = 0] = pads;
    const margins = [0, top, left * block, 0, tall - height - top, (wide - width - left) * block];
    const isCut = margins.some((margin) => margin !== 0);
    const framed = isCut ? writer.one("Pad", [rows, writer.ints(margins)]) : rows;
    const image = reshape(framed, [channels, batch, tall, wide], writer);
    const window = { strides: dilations, dilations: strides, pads: [0, 0, 0, 0], group: 1 };
    const dw = fromBlocks(blockedConv([image, kernels], out, window, writer), results, writer);
    return [transpose(dw, [1, 0, 2, 3], writer)];
  };

/** Exchanges the first two of three axes; the contiguous last axis is moved in large pieces. */
function swapFirst(name: string, first: number, second: number, writer: NodeWriter): string {
  return first === 1 || second === 1 ? name : transpose(name, [1, 0, 2], writer);
}

/**
 * Reorders [N, M, …] to kernels [M / B, N / B, …, B of N, B of M]. The engine's conversion to blocks is the
 * fastest way to gather distant elements, so it is applied twice: to the images, then to the results.
 */
function gradientAsKernels(
  dy: string,
  [batch = 1, results = 1, ...out]: Shape,
  block: number,
  writer: NodeWriter,
): string {
  const places = product(out);
  const parts = (batch / block) * (results / block);
  const byImage = toBlocks(reshape(dy, [1, batch, results, places], writer), writer);
  const byResult = toBlocks(reshape(byImage, [parts, block, places, block], writer), writer);
  const pieces = reshape(byResult, [batch / block, results / block, places * block * block], writer);
  return reshape(swapFirst(pieces, batch / block, results / block, writer), [results, batch, ...out], writer);
}

/** Lowers convolutions to the form that is fastest on the engine. */
export function convolutionLowerings(target: Target): OwnLoweringsOf<"convolution"> {
  return {
    Conv: conv(target),
    ConvTranspose: convTranspose(target),
    ConvWeightGradient: convWeightGradient(target),
  };
}
