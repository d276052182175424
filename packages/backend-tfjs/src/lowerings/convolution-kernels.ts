/**
 * TensorFlow's kernels for Conv, ConvTranspose and ConvWeightGradient, with one group or depthwise.
 * Images are [N, d…, C], filters [k…, C, M], or [k…, C, M / C] for a depthwise convolution.
 */
import { type DType, type Shape, samePads } from "@mp/graph";
import { ints, string, type TfAttributes, type } from "../graph/attributes.js";
import type { ScopeWriter } from "../graph/scope-writer.js";
import type { Term } from "../graph/term.js";
import { extent, spread, takeTaps } from "./dilated-kernels.js";

/** A convolution of an image with two or three spatial axes; lists have one entry for each. */
export interface Convolution {
  readonly dtype: DType;
  readonly batch: number;
  /** Image channels: of one group, or of all groups if the convolution is depthwise. */
  readonly channels: number;
  /** Result channels: of one group, or of all groups if the convolution is depthwise. */
  readonly results: number;
  readonly image: Shape;
  readonly out: Shape;
  readonly kernel: Shape;
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly before: readonly number[];
  readonly after: readonly number[];
  /** Whether each channel has its own filters. */
  readonly isDepthwise: boolean;
}

const isVolume = ({ image }: Convolution): boolean => image.length === 3;

/** The kernel's padding. "BEFORE": another node pads the image with zeros, or crops the image's gradient. */
type Padding = "VALID" | "SAME" | "EXPLICIT" | "BEFORE";

/**
 * Chooses the padding. Only the forward Conv2D may use "EXPLICIT". With explicit pads, gradients accumulate in the half
 * dtype, without oneDNN; shape inference of depthwise kernels crashes; 3-D kernels do not have them.
 */
function choosePadding(of: Convolution, isForward: boolean): Padding {
  const { before, after, image, kernel, strides, dilations } = of;
  if ([...before, ...after].every((pad) => pad === 0)) return "VALID";
  const same = samePads(image, kernel, { strides, dilations });
  if ([...before, ...after].every((pad, index) => pad === same[index])) return "SAME";
  return isForward && !isVolume(of) && !of.isDepthwise ? "EXPLICIT" : "BEFORE";
}

function kernelAttributes(of: Convolution, padding: Padding, dilations: readonly number[]): TfAttributes {
  const { dtype, strides, before, after } = of;
  const common = {
    T: type(dtype),
    strides: ints([1, ...strides, 1]),
    dilations: ints([1, ...dilations, 1]),
    data_format: string(isVolume(of) ? "NDHWC" : "NHWC"),
    padding: string(padding === "BEFORE" ? "VALID" : padding),
  };
  if (padding !== "EXPLICIT") return common;
  const pairs = before.flatMap((pad, axis) => [pad, after[axis] ?? 0]);
  return { ...common, explicit_paddings: ints([0, 0, ...pairs, 0, 0]) };
}

const ones = (of: Convolution): readonly number[] => of.image.map(() => 1);
const filterShape = ({ kernel, channels, results, isDepthwise }: Convolution): Shape => [
  ...kernel,
  channels,
  isDepthwise ? results / channels : results,
];

/** The sizes of the spatial axes with padding. */
const paddedSizes = ({ image, before, after }: Convolution): Shape =>
  image.map((size, axis) => size + (before[axis] ?? 0) + (after[axis] ?? 0));

function padBefore(image: Term, of: Convolution, padding: Padding): Term {
  if (padding !== "BEFORE") return image;
  const own = of.before.map((width, axis) => [width, of.after[axis] ?? 0] as const);
  return image.pad([[0, 0], ...own, [0, 0]], 0);
}

/** TensorFlow's name of the kernel for a direction: forward, or gradient of the image or of the filter. */
function kernelName(of: Convolution, direction: "" | "BackpropInput" | "BackpropFilter"): string {
  if (isVolume(of)) return `Conv3D${direction}${direction === "" ? "" : "V2"}`;
  return `${of.isDepthwise ? "DepthwiseConv2dNative" : "Conv2D"}${direction}`;
}

/** Convolves image and filter. Only the forward Conv2D kernel dilates; for other kernels the filter is dilated. */
export function forward(image: Term, filter: Term, of: Convolution, writer: ScopeWriter): Term {
  const isNative = !isVolume(of) && !of.isDepthwise;
  const kernels = isNative ? filter : spread(filter, of.dilations);
  const padding = choosePadding(of, true);
  const attributes = kernelAttributes(of, padding, isNative ? of.dilations : ones(of));
  const shape = [of.batch, ...of.out, of.results];
  const operands = [padBefore(image, of, padding), kernels];
  return writer.term(kernelName(of, ""), operands, attributes, { dtype: of.dtype, shape });
}

/** The image's gradient from the result's gradient; also the forward pass of a transposed convolution. */
export function backToImage(filter: Term, result: Term, of: Convolution, writer: ScopeWriter): Term {
  const { dtype, batch, channels, image, before } = of;
  const padding = choosePadding(of, false);
  const shape = [batch, ...(padding === "BEFORE" ? paddedSizes(of) : image), channels];
  const operands = [writer.ints(shape), spread(filter, of.dilations), result];
  const attributes = {
    ...kernelAttributes(of, padding, ones(of)),
    ...(isVolume(of) ? { Tshape: type("i32") } : {}),
  };
  const whole = writer.term(kernelName(of, "BackpropInput"), operands, attributes, { dtype, shape });
  return padding === "BEFORE" ? whole.slice([0, ...before, 0], [batch, ...image, channels]) : whole;
}

/**
 * Crops a padded image to the part that filters of size 1 read. If a stride leaves unread rows at the end,
 * oneDNN's filter gradient sums over uninitialized memory.
 */
function withoutRest(padded: Term, of: Convolution): Term {
  const { batch, channels, kernel, out, strides } = of;
  const read = out.map((size, axis) => (size - 1) * (strides[axis] ?? 1) + 1);
  const isRead = paddedSizes(of).every((size, axis) => size === read[axis]);
  if (isRead || kernel.some((size) => size > 1)) return padded;
  const whole = [batch, ...read, channels];
  return padded.slice(
    whole.map(() => 0),
    whole,
  );
}

/** The filter's gradient from the image and the gradient of the result. */
export function backToFilter(image: Term, result: Term, of: Convolution, writer: ScopeWriter): Term {
  const { dtype, kernel, dilations } = of;
  const shape = [...extent(kernel, dilations), ...filterShape(of).slice(kernel.length)];
  const padding = choosePadding(of, false);
  const read = withoutRest(padBefore(image, of, padding), of);
  const operands = [read, writer.ints(shape), result];
  const attributes = kernelAttributes(of, padding, ones(of));
  const filter = writer.term(kernelName(of, "BackpropFilter"), operands, attributes, { dtype, shape });
  return takeTaps(filter, dilations);
}
