/**
 * TensorFlow's kernels for a convolution of one group, or a depthwise one, as the three operators need them: images [N,
 * d…, C], filters [k…, C, M], or [k…, C, M / C] where each channel has its own.
 */
import type { DType, Shape } from "@mp/core";
import { samePads } from "@mp/core/graph";
import { ints, string, type TfAttributes, type TfWriter, type } from "../graph/tf-writer.js";
import { extentOf, gathered, spread } from "./dilated-kernels.js";
import { cut, padded } from "./lowering.js";

/** A convolution of an image; lists have two or three axes. */
export interface Convolution {
  readonly dtype: DType;
  readonly batch: number;
  /** Channels of the image, and of the result, in one group. */
  readonly channels: number;
  readonly results: number;
  readonly image: Shape;
  readonly out: Shape;
  readonly kernel: Shape;
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly before: readonly number[];
  readonly after: readonly number[];
  /** Each channel has its own filters. */
  readonly isDepthwise: boolean;
}

const isVolume = ({ image }: Convolution): boolean => image.length === 3;

/**
 * How padding is applied: by the kernel, or as zeros around the image (which are cut off again from the image's
 * gradient).
 */
type Padding = "VALID" | "SAME" | "EXPLICIT" | "BEFORE";

/**
 * Explicit pads are used for the forward Conv2D only. With explicit pads its gradients do not use oneDNN, and sum
 * halves tap by tap in the half; 3-D kernels have no explicit pads; and for depthwise ones the engine crashes in shape
 * inference.
 */
function paddingOf(of: Convolution, isForward: boolean): Padding {
  const { before, after, image, kernel, strides, dilations } = of;
  if ([...before, ...after].every((pad) => pad === 0)) return "VALID";
  const same = samePads(image, kernel, { strides, dilations });
  if ([...before, ...after].every((pad, index) => pad === same[index])) return "SAME";
  return isForward && !isVolume(of) && !of.isDepthwise ? "EXPLICIT" : "BEFORE";
}

function attributesOf(of: Convolution, padding: Padding, dilations: readonly number[]): TfAttributes {
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
const spreadShape = (of: Convolution): Shape => [
  ...extentOf(of.kernel, of.dilations),
  ...filterShape(of).slice(of.kernel.length),
];
const spreadFilter = (filter: string, of: Convolution, writer: TfWriter): string =>
  spread(filter, of.dtype, filterShape(of), of.dilations, writer);

function paddedBefore(image: string, of: Convolution, padding: Padding, writer: TfWriter): string {
  if (padding !== "BEFORE") return image;
  const own = of.before.map((width, axis) => [width, of.after[axis] ?? 0] as const);
  return padded(image, of.dtype, [[0, 0], ...own, [0, 0]], 0, writer);
}

/** The result from image and filter. The kernel itself dilates only images, and only in the forward direction. */
export function forward(image: string, filter: string, of: Convolution, writer: TfWriter): string {
  const isNative = !isVolume(of) && !of.isDepthwise;
  const kernels = isNative ? filter : spreadFilter(filter, of, writer);
  const op = isVolume(of) ? "Conv3D" : of.isDepthwise ? "DepthwiseConv2dNative" : "Conv2D";
  const padding = paddingOf(of, true);
  const attributes = attributesOf(of, padding, isNative ? of.dilations : ones(of));
  return writer.one(op, [paddedBefore(image, of, padding, writer), kernels], attributes);
}

/** The image's gradient from the result's gradient; also the forward pass of a transposed convolution. */
export function backToImage(filter: string, result: string, of: Convolution, writer: TfWriter): string {
  const op = isVolume(of)
    ? "Conv3DBackpropInputV2"
    : of.isDepthwise
      ? "DepthwiseConv2dNativeBackpropInput"
      : "Conv2DBackpropInput";
  const { batch, channels, image, before, after } = of;
  const padding = paddingOf(of, false);
  const sizes =
    padding === "BEFORE" ? image.map((size, axis) => size + (before[axis] ?? 0) + (after[axis] ?? 0)) : image;
  const operands = [writer.ints([batch, ...sizes, channels]), spreadFilter(filter, of, writer), result];
  const attributes = attributesOf(of, padding, ones(of));
  const whole = writer.one(op, operands, isVolume(of) ? { ...attributes, Tshape: type("i32") } : attributes);
  if (padding !== "BEFORE") return whole;
  return cut(whole, of.dtype, [0, ...before, 0], [batch, ...image, channels], writer);
}

/**
 * The part of a padded image that filters of size 1 read: where a stride leaves rows after the last one read, oneDNN's
 * filter gradient sums over memory that it never wrote.
 */
function withoutRest(padded: string, of: Convolution, writer: TfWriter): string {
  const { dtype, batch, channels, image, kernel, out, strides, before, after } = of;
  const read = out.map((count, axis) => (count - 1) * (strides[axis] ?? 1) + 1);
  const isRead = image.every((size, axis) => size + (before[axis] ?? 0) + (after[axis] ?? 0) === read[axis]);
  if (isRead || kernel.some((size) => size > 1)) return padded;
  const whole = [batch, ...read, channels];
  return cut(
    padded,
    dtype,
    whole.map(() => 0),
    whole,
    writer,
  );
}

/** The filter's gradient from the image and the result's gradient. */
export function backToFilter(image: string, result: string, of: Convolution, writer: TfWriter): string {
  const op = isVolume(of)
    ? "Conv3DBackpropFilterV2"
    : of.isDepthwise
      ? "DepthwiseConv2dNativeBackpropFilter"
      : "Conv2DBackpropFilter";
  const shape = spreadShape(of);
  const padding = paddingOf(of, false);
  const read = withoutRest(paddedBefore(image, of, padding, writer), of, writer);
  const operands = [read, writer.ints(shape), result];
  const filter = writer.one(op, operands, attributesOf(of, padding, ones(of)));
  return gathered(filter, of.dtype, shape, of.dilations, writer);
}
