import { ints } from "@mp/onnx/write";
import { convAttributes } from "../lowerings/operators.js";
import type { OwnLowering } from "../lowerings/own-lowering.js";

/**
 * Computes with the smaller of the two pads at both ends of each axis, then crops the result, because the CUDA provider
 * leaves transposed convolutions with unequal pads to the CPU.
 */
export const convTranspose: OwnLowering<"ConvTranspose"> = (node, operands, writer) => {
  const { pads, outputPadding } = node.attributes;
  const kernel = (node.inputs[1]?.shape ?? []).slice(2);
  const rank = kernel.length;
  const ends = kernel.map((_, axis) => [pads[axis] ?? 0, pads[rank + axis] ?? 0] as const);
  if (ends.every(([begin, end]) => begin === end)) return undefined;
  const common = ends.map(([begin, end]) => Math.min(begin, end));
  const whole = writer.one(
    "ConvTranspose",
    operands.filter((name) => name !== ""),
    {
      ...convAttributes(kernel, { ...node.attributes, pads: [...common, ...common] }),
      output_padding: ints(outputPadding),
    },
  );
  const shape = (node.outputs[0]?.shape ?? []).slice(2);
  const starts = ends.map(([begin], axis) => begin - (common[axis] ?? 0));
  return [
    writer.one("Slice", [
      whole,
      writer.ints(starts),
      writer.ints(starts.map((start, axis) => start + (shape[axis] ?? 0))),
      writer.ints(starts.map((_, axis) => axis + 2)),
    ]),
  ];
};
