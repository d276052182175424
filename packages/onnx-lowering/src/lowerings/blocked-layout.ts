/**
 * ONNX Runtime's own layout for convolutions, [N, C / B, d…, B] with B channels kept together, and its operators in
 * that layout. They are meant for its optimizer, which moves models with constant weights into that layout, but a model
 * may name them itself. The layout does not show in a shape, which stays [N, C, d…].
 */
import type { Shape } from "@mp/core";
import { int, ints, type NodeWriter, type OnnxAttributes } from "@mp/onnx/write";
import { type EmitFrom, oncePerName } from "./once-per-name.js";

export const BLOCKED_DOMAIN = "com.microsoft.nchwc";
const IN_DOMAIN = { domain: BLOCKED_DOMAIN };

export const sizeOf = (shape: Shape): number => shape.reduce((product, size) => product * size, 1);

export function reshape(name: string, shape: Shape, writer: NodeWriter): string {
  return writer.one("Reshape", [name, writer.ints(shape)]);
}

export function transpose(name: string, perm: readonly number[], writer: NodeWriter): string {
  return writer.one("Transpose", [name], { perm: ints(perm) });
}

/** Reverses the axis. */
export function reversed(name: string, axis: number, size: number, writer: NodeWriter): string {
  if (size === 1) return name;
  const bounds = [size - 1, -size - 1, axis, -1].map((number) => writer.ints([number]));
  return writer.one("Slice", [name, ...bounds]);
}

/** Several convolutions may read an image. */
export const toBlocks: EmitFrom = oncePerName((name, writer) =>
  writer.one("ReorderInput", [name], {}, IN_DOMAIN),
);

export function fromBlocks(name: string, channels: number, writer: NodeWriter): string {
  return writer.one("ReorderOutput", [name], { channels: int(channels) }, IN_DOMAIN);
}

export interface BlockedWindow {
  readonly kernel: Shape;
  readonly strides: readonly number[];
  readonly pads: readonly number[];
  readonly dilations: readonly number[];
  readonly group: number;
}

/**
 * A convolution of an image in blocks (an image with fewer channels than a block: as it is), with weights in blocks and
 * an optional bias.
 */
export function blockedConv(operands: readonly string[], window: BlockedWindow, writer: NodeWriter): string {
  const { kernel, strides, pads, dilations, group } = window;
  const attributes: OnnxAttributes = {
    kernel_shape: ints(kernel),
    strides: ints(strides),
    pads: ints(pads),
    dilations: ints(dilations),
    group: int(group),
  };
  return writer.one("Conv", operands, attributes, IN_DOMAIN);
}

/** The smallest multiple of a block that holds that many channels. */
export function wholeBlocks(channels: number, block: number): number {
  return Math.ceil(channels / block) * block;
}

/** Appends zeros to the axis, up to whole blocks. */
export function padToBlocks(
  name: string,
  shape: Shape,
  axis: number,
  block: number,
  writer: NodeWriter,
): string {
  const size = shape[axis] ?? 0;
  const missing = wholeBlocks(size, block) - size;
  if (missing === 0) return name;
  const after = shape.map((_, index) => (index === axis ? missing : 0));
  return writer.one("Pad", [name, writer.ints([...shape.map(() => 0), ...after])]);
}
