import { grad, type Shape, type Tensor } from "@mp/core";
import {
  type ConvOptions,
  type ConvTransposeOptions,
  conv,
  convTranspose,
  mul,
  reduceSum,
} from "@mp/core/ops";
import { type GradientRows, type GradientSample, sample, spread } from "./gradient-sample.js";

const convolved = (behaviour: string, x: Shape, w: Shape, options: ConvOptions = {}): GradientSample =>
  sample(
    behaviour,
    (image, weights) => conv(image as Tensor, weights as Tensor, options),
    spread(x),
    spread(w, 1),
  );

const transposed = (
  behaviour: string,
  x: Shape,
  w: Shape,
  options: ConvTransposeOptions = {},
): GradientSample =>
  sample(
    behaviour,
    (image, weights) => convTranspose(image as Tensor, weights as Tensor, options),
    spread(x),
    spread(w, 1),
  );

/** The gradient of Σ conv(x, w) · dy for w, as a function of x and dy. */
const weightGradient = (
  behaviour: string,
  x: Shape,
  w: Shape,
  dy: Shape,
  options: ConvOptions = {},
): GradientSample =>
  sample(
    behaviour,
    (image, weights, result) =>
      grad((kernels: Tensor) => reduceSum(mul(conv(image as Tensor, kernels, options), result as Tensor)))(
        weights as Tensor,
      ),
    spread(x),
    spread(w, 1),
    spread(dy, 2),
  );

export const convolutionGradientSamples: GradientRows<"Conv" | "ConvTranspose" | "ConvWeightGradient"> = {
  Conv: [
    convolved("images", [2, 2, 4, 5], [3, 2, 3, 3], { pads: 1 }),
    sample(
      "bias",
      (x, w, bias) => conv(x as Tensor, w as Tensor, { bias: bias as Tensor, autoPad: "same", strides: 2 }),
      spread([2, 2, 5, 4]),
      spread([3, 2, 3, 2], 1),
      spread([3], 2),
    ),
    convolved("rows-left-over", [1, 2, 7, 6], [2, 2, 3, 2], { strides: [2, 3], pads: [1, 0, 1, 1] }),
    convolved("dilated-in-groups", [1, 4, 6, 5], [2, 2, 2, 2], { dilations: [2, 3], group: 2 }),
    convolved("each-channel", [2, 3, 4, 4], [3, 1, 3, 3], { group: 3, autoPad: "same" }),
    convolved("lines", [2, 3, 6], [2, 3, 3], { strides: 2, pads: 1 }),
    convolved("volumes", [1, 2, 3, 3, 4], [2, 2, 2, 2, 2], { strides: [1, 2, 1], pads: 1 }),
    convolved("overhanging-kernels", [1, 2, 2, 2], [2, 2, 3, 4], { pads: [1, 1, 1, 2] }),
  ],
  ConvTranspose: [
    transposed("images", [2, 3, 3, 4], [3, 2, 3, 3], { pads: 1 }),
    sample(
      "bias",
      (x, w, bias) => convTranspose(x as Tensor, w as Tensor, { bias: bias as Tensor, strides: 2 }),
      spread([2, 2, 3, 2]),
      spread([2, 3, 2, 3], 1),
      spread([3], 2),
    ),
    transposed("rows-added", [1, 2, 3, 2], [2, 2, 3, 3], {
      strides: [2, 3],
      outputPadding: [1, 2],
      pads: [1, 0, 1, 1],
    }),
    transposed("dilated-in-groups", [1, 4, 3, 3], [4, 1, 2, 2], { dilations: [1, 2], group: 2 }),
    transposed("lines", [2, 3, 4], [3, 2, 3], { strides: 2 }),
    transposed("volumes", [1, 2, 2, 3, 2], [2, 2, 2, 2, 2], { strides: [1, 2, 1] }),
  ],
  ConvWeightGradient: [
    weightGradient("images", [2, 2, 4, 4], [3, 2, 3, 3], [2, 3, 4, 4], { pads: 1 }),
    weightGradient("rows-left-over-in-groups", [1, 4, 5, 4], [2, 2, 2, 2], [1, 2, 2, 2], {
      strides: 2,
      group: 2,
    }),
  ],
};
