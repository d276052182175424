/** Convolutions that the provider has no kernel for: grouped ones with three spatial axes, and some transposed ones. */
import type { GraphNode, OpAttributes, Shape } from "@mp/graph";
import { int, ints, type NodeWriter, type OnnxAttributes } from "@mp/onnx/write";
import { flipKernels, transposedWeights } from "../lowerings/convolution.js";
import { convAttributes } from "../lowerings/operators.js";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "../lowerings/own-lowering.js";
import type { Replacement, Replacements } from "../replacing/kernel-writer.js";
import { frame, type Shaped, spread } from "./along-axis.js";
import { splitInSteps } from "./split.js";

const operandShape = (node: GraphNode, index: number): Shape => node.inputs[index]?.shape ?? [];

/** Splits an axis of `size` into `group` equal parts. */
function split(
  name: string,
  axis: number,
  size: number,
  group: number,
  writer: NodeWriter,
): readonly string[] {
  const sizes = new Array<number>(group).fill(size / group);
  return splitInSteps(name, axis, sizes, writer);
}

/** Writes a convolution of [N, C, d…] with kernels [M, C / group, k…]. */
function convolve(
  x: Shaped,
  w: Shaped,
  bias: string | undefined,
  window: OpAttributes["Conv"],
  writer: NodeWriter,
): string {
  const [results = 0, , ...kernel] = w.shape;
  const { group } = window;
  const conv = (operands: readonly string[], groups: number): string =>
    writer.one("Conv", operands, convAttributes(kernel, { ...window, group: groups }));
  const given = bias === undefined ? [] : [bias];
  if (group === 1 || kernel.length < 3) return conv([x.name, w.name, ...given], group);
  const images = split(x.name, 1, x.shape[1] ?? 0, group, writer);
  const kernels = split(w.name, 0, results, group, writer);
  const biases = bias === undefined ? undefined : split(bias, 0, results, group, writer);
  const parts = images.map((image, index) =>
    conv([image, at(kernels, index), ...(biases === undefined ? [] : [at(biases, index)])], 1),
  );
  return writer.one("Concat", parts, { axis: int(1) });
}

const conv: OwnLowering<"Conv"> = (node, operands, writer) => {
  const [x, w] = [0, 1].map(
    (index): Shaped => ({ name: at(operands, index), shape: operandShape(node, index) }),
  ) as [Shaped, Shaped];
  if (node.attributes.group === 1 || w.shape.length < 5) return undefined;
  return [convolve(x, w, operands[2], node.attributes, writer)];
};

/** Writes a transposed convolution as a convolution of x, dilated with zeros, with the flipped kernels. */
const convTranspose: OwnLowering<"ConvTranspose"> = (node, operands, writer) => {
  const { strides, pads, dilations, group, outputPadding } = node.attributes;
  const weights = transposedWeights(node, at(operands, 1));
  const { kernel, results } = weights;
  if (group === 1 && kernel.length < 3) return undefined;
  const { dtype } = operandType(node);
  const rank = kernel.length;
  const stretched = kernel.reduce<Shaped>(
    ({ name, shape }, _, index) => {
      const [step, axis] = [strides[index] ?? 1, index + 2];
      if (step === 1) return { name, shape };
      const size = ((shape[axis] ?? 1) - 1) * step + 1;
      return spread([{ name, offset: 0 }], shape, axis, { step, size, dtype }, writer);
    },
    { name: at(operands, 0), shape: operandShape(node, 0) },
  );
  const reach = kernel.map((size, index) => (size - 1) * (dilations[index] ?? 1));
  const begins = reach.map((far, index) => far - (pads[index] ?? 0));
  const ends = reach.map((far, index) => far - (pads[rank + index] ?? 0) + (outputPadding[index] ?? 0));
  const margined = kernel.reduce<Shaped>(
    (x, _, index) => frame(x, index + 2, [begins[index] ?? 0, ends[index] ?? 0], [0, dtype], writer),
    stretched,
  );
  const turned = {
    name: flipKernels(weights, writer),
    shape: [results * group, weights.channels, ...kernel],
  };
  const window = { strides: kernel.map(() => 1), pads: pads.map(() => 0), dilations, group };
  return [convolve(margined, turned, operands[2], window, writer)];
};

const readInts = (attribute: OnnxAttributes[string] | undefined): readonly number[] =>
  attribute?.kind === "ints" ? attribute.value.map(Number) : [];

/** Pads by a Pad node for 1 × 1 kernels, because with end pads only, the provider's kernel reads past the image. */
const padImage: Replacement = ({ inputs: [x = "", ...others], attributes, options }, writer) => {
  const [kernel, pads] = [readInts(attributes["kernel_shape"]), readInts(attributes["pads"])];
  const begins = pads.slice(0, kernel.length);
  const isRead = kernel.every((size) => size === 1) && begins.every((count) => count === 0);
  if (!isRead || pads.every((count) => count === 0)) return undefined;
  const whole = writer.one("Pad", [x, writer.ints([0, 0, ...begins, 0, 0, ...pads.slice(kernel.length)])]);
  return writer.emit("Conv", [whole, ...others], { ...attributes, pads: ints(pads.map(() => 0)) }, options);
};

export const convolutions: Replacements = { Conv: padImage };

export const convolutionLowerings: OwnLoweringsOf<"convolution"> = {
  Conv: conv,
  ConvTranspose: convTranspose,
};
