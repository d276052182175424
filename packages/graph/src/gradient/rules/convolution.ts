import type { OpAttributes } from "../../graph/attributes.js";
import type { OpOf } from "../../graph/families.js";
import { windowExtent } from "../../graph/window.js";
import type { Shape } from "../../shape.js";
import { emit } from "../../trace/emit.js";
import { reduceSum } from "../../trace/ops/reduce.js";
import type { Tensor } from "../../trace/tensor.js";
import type { GradientTable } from "./rule.js";

type Attributes = OpAttributes["Conv"];

const pickWindow = ({ strides, pads, dilations, group }: Attributes): Attributes => ({
  strides,
  pads,
  dilations,
  group,
});

/** Numbers of elements at the end of each axis that the kernel's last position does not reach. */
function remainders(
  image: Shape,
  kernel: Shape,
  { strides, pads, dilations }: Attributes,
): readonly number[] {
  const sizes = image.slice(2);
  return sizes.map((size, axis) => {
    const padded = size + (pads[axis] ?? 0) + (pads[axis + sizes.length] ?? 0);
    const extent = windowExtent(kernel[axis + 2] ?? 1, dilations[axis] ?? 1);
    return (padded - extent) % (strides[axis] ?? 1);
  });
}

/** Sums over all axes but the channel axis. */
const biasGradient = (g: Tensor): Tensor =>
  reduceSum(g, { axes: g.shape.flatMap((_, axis) => (axis === 1 ? [] : [axis])) });

/** The weight gradient, from tensors with the shapes of a convolution's operand and result. */
const forWeights = (image: Tensor, result: Tensor, kernel: Shape, attributes: Attributes): Tensor =>
  emit("ConvWeightGradient", [image, result], { ...pickWindow(attributes), kernelShape: kernel.slice(2) });

/**
 * y = x ∗ w is linear in x and in w, and ⟨g, x ∗ w⟩ = ⟨x, g ∗ᵀ w⟩ = ⟨w, dw(x, g)⟩. So each of the three operators is
 * a gradient of the other two, with the roles of the operands exchanged.
 */
export const convolutionGradients: GradientTable<OpOf<"convolution">> = {
  Conv: (site) => {
    const { attributes, input, needs, inputType, inputTypes } = site;
    const g = site.gradient(0);
    const outputPadding = remainders(inputType(0).shape, inputType(1).shape, attributes);
    return [
      needs(0)
        ? emit("ConvTranspose", [g, input(1)], { ...pickWindow(attributes), outputPadding })
        : undefined,
      needs(1) ? forWeights(input(0), g, inputType(1).shape, attributes) : undefined,
      inputTypes.length > 2 && needs(2) ? biasGradient(g) : undefined,
    ];
  },
  ConvTranspose: (site) => {
    const { attributes, input, needs, inputType, inputTypes } = site;
    const g = site.gradient(0);
    return [
      needs(0) ? emit("Conv", [g, input(1)], pickWindow(attributes)) : undefined,
      needs(1) ? forWeights(g, input(0), inputType(1).shape, attributes) : undefined,
      inputTypes.length > 2 && needs(2) ? biasGradient(g) : undefined,
    ];
  },
  ConvWeightGradient: (site) => {
    const { attributes, input, needs, inputType } = site;
    const g = site.gradient(0);
    const outputPadding = remainders(inputType(0).shape, g.shape, attributes);
    return [
      needs(0)
        ? emit("ConvTranspose", [input(1), g], { ...pickWindow(attributes), outputPadding })
        : undefined,
      needs(1) ? emit("Conv", [input(0), g], pickWindow(attributes)) : undefined,
    ];
  },
};
