import type { NodeWriter } from "@mp/onnx/write";
import { product, reshape } from "../lowerings/operators.js";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "../lowerings/own-lowering.js";
import { sliceAsRows } from "./indexing.js";
import { splitInSteps } from "./split.js";

/** Repeats one axis at a time, in values reshaped to at most three axes, because the kernel accepts few axes. */
const tile: OwnLowering<"Tile"> = (node, operands, writer) => {
  const { shape, dtype } = operandType(node);
  const isSmall = dtype === "bool" || dtype === "u8";
  const repeated = node.attributes.repeats.reduce(
    (x, repeats, axis) => repeatAlong(x, axis, repeats, writer),
    { name: isSmall ? writer.cast(at(operands, 0), "f32") : at(operands, 0), shape },
  );
  return [isSmall ? writer.cast(repeated.name, dtype) : repeated.name];
};

function repeatAlong(
  { name, shape }: { readonly name: string; readonly shape: readonly number[] },
  axis: number,
  repeats: number,
  writer: NodeWriter,
) {
  if (repeats === 1) return { name, shape };
  const [outer, inner] = [product(shape.slice(0, axis)), product(shape.slice(axis))];
  const copies = writer.one("Expand", [
    reshape(name, [outer, 1, inner], writer),
    writer.ints([outer, repeats, inner]),
  ]);
  const whole = shape.map((size, index) => (index === axis ? size * repeats : size));
  return { name: reshape(copies, whole, writer), shape: whole };
}

/**
 * Drops a Transpose that moves nothing, because for one axis the kernel copies the buffer, and the provider loses this
 * copy when it replays a recorded run.
 */
const transpose: OwnLowering<"Transpose"> = ({ attributes: { perm } }, operands) =>
  perm.every((axis, place) => axis === place) ? [at(operands, 0)] : undefined;

const split: OwnLowering<"Split"> = (node, operands, writer) => {
  const { axis, split: sizes } = node.attributes;
  return splitInSteps(at(operands, 0), axis, sizes, writer);
};

export const movementLowerings: OwnLoweringsOf<"movement"> = {
  Tile: tile,
  Slice: sliceAsRows,
  Transpose: transpose,
  Split: split,
};
