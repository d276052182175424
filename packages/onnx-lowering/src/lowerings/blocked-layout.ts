/**
 * ONNX Runtime's own layout for convolutions, [N, C / B, d…, B] with B channels kept together, and its operators in
 * that layout. They are meant for its optimizer, which moves models with constant weights into that layout, but a model
 * may name them itself. The layout does not show in a shape, which stays [N, C, d…].
 */
import type { OpAttributes, Shape } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { type EmitFrom, oncePerName } from "./once-per-name.js";
import { convAttributes } from "./operators.js";

export const BLOCKED_DOMAIN = "com.microsoft.nchwc";
const IN_DOMAIN = { domain: BLOCKED_DOMAIN };

/** Several convolutions may read an image. */
export const toBlocks: EmitFrom = oncePerName((name, writer) =>
  writer.one("ReorderInput", [name], {}, IN_DOMAIN),
);

export function fromBlocks(name: string, channels: number, writer: NodeWriter): string {
  return writer.one("ReorderOutput", [name], { channels: int(channels) }, IN_DOMAIN);
}

/**
 * A convolution of an image in blocks (an image with fewer channels than a block: as it is), with weights in blocks and
 * an optional bias.
 */
export const blockedConv = (
  operands: readonly string[],
  kernel: Shape,
  window: OpAttributes["Conv"],
  writer: NodeWriter,
): string => writer.one("Conv", operands, convAttributes(kernel, window), IN_DOMAIN);

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
