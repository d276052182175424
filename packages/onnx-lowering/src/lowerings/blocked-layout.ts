/**
 * ONNX Runtime's layout for convolutions, [N, C / B, d…, B] with blocks of B channels, and its operators.
 * ORT's optimizer inserts these operators only where weights are constant, but any model may contain them.
 * The declared shape stays [N, C, d…].
 */
import type { OpAttributes, Shape } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { type EmitFrom, oncePerName } from "./once-per-name.js";
import { convAttributes } from "./operators.js";

export const BLOCKED_DOMAIN = "com.microsoft.nchwc";
const IN_DOMAIN = { domain: BLOCKED_DOMAIN };

/** Converts an image to blocks, once for all convolutions that read it. */
export const toBlocks: EmitFrom = oncePerName((name, writer) =>
  writer.one("ReorderInput", [name], {}, IN_DOMAIN),
);

export function fromBlocks(name: string, channels: number, writer: NodeWriter): string {
  return writer.one("ReorderOutput", [name], { channels: int(channels) }, IN_DOMAIN);
}

/**
 * A convolution with image and weights in blocks and an optional bias. An image with fewer channels than a block
 * stays in the plain layout.
 */
export const blockedConv = (
  operands: readonly string[],
  kernel: Shape,
  window: OpAttributes["Conv"],
  writer: NodeWriter,
): string => writer.one("Conv", operands, convAttributes(kernel, window), IN_DOMAIN);

/** Rounds a number of channels up to a multiple of the block size. */
export function wholeBlocks(channels: number, block: number): number {
  return Math.ceil(channels / block) * block;
}

/** Pads an axis with zeros to a multiple of the block size. */
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
