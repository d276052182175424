import { formatShape, type Shape } from "../../shape.js";
import type { KernelWindow, Op, OpAttributes } from "../attributes.js";
import type { OpOf } from "../families.js";
import type { ValueType } from "../graph.js";
import { windowExtent } from "../window.js";
import {
  argumentError,
  expectDType,
  expectIntegers,
  expectSameDType,
  expectShape,
  type InferTable,
  operands,
  shapeError,
} from "./rule.js";

/**
 * Spatial sizes of the result.
 * @throws MP_INVALID_ARGUMENT for an invalid window, MP_SHAPE_MISMATCH if the kernel does not fit even once
 */
function windowSizes(op: Op, sizes: Shape, kernel: Shape, window: KernelWindow): Shape {
  expectWindow(op, sizes.length, window);
  return sizes.map((size, axis) => {
    const extent = windowExtent(kernel[axis] ?? 1, window.dilations[axis] ?? 1);
    const padded = size + (window.pads[axis] ?? 0) + (window.pads[axis + sizes.length] ?? 0);
    if (extent > padded) {
      throw shapeError(
        op,
        `a kernel of ${formatShape(kernel)} with dilations ${formatShape(window.dilations)} does not fit into ${formatShape(sizes)} with pads ${formatShape(window.pads)}`,
      );
    }
    return Math.floor((padded - extent) / (window.strides[axis] ?? 1)) + 1;
  });
}

function expectWindow(op: Op, rank: number, { strides, pads, dilations }: KernelWindow): void {
  expectIntegers(op, "strides", strides, rank, 1);
  expectIntegers(op, "dilations", dilations, rank, 1);
  expectIntegers(op, "pads", pads, 2 * rank, 0);
}

/** Checks that there are 1 to 3 spatial axes, and that only the batch axis may be empty. */
function expectChanneled(op: OpOf<"convolution">, what: string, { shape }: ValueType): void {
  if (shape.length < 3 || shape.length > 5) {
    throw shapeError(
      op,
      `takes 1 to 3 spatial axes behind batch and channels, ${what} is ${formatShape(shape)}`,
    );
  }
  if (shape.slice(1).includes(0)) throw shapeError(op, `${what} of ${formatShape(shape)} has an empty axis`);
}

/** @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH naming the sizes */
function expectGroups(
  op: OpOf<"convolution">,
  group: number,
  counts: Readonly<Record<string, number>>,
): void {
  if (!Number.isSafeInteger(group) || group < 1) {
    throw argumentError(op, `group must be an integer ≥ 1, got ${group}`);
  }
  for (const [what, count] of Object.entries(counts)) {
    if (count % group !== 0) throw shapeError(op, `${count} ${what} do not divide into ${group} groups`);
  }
}

/** Makes the checks that both convolutions share and returns x and w. */
function checkOperands(
  op: "Conv" | "ConvTranspose",
  inputs: readonly ValueType[],
): readonly [ValueType, ValueType] {
  const [x, w] = operands(op, inputs, 2, 3);
  expectDType(op, x);
  expectSameDType(op, inputs);
  expectChanneled(op, "x", x);
  if (w.shape.length !== x.shape.length || w.shape.includes(0)) {
    throw shapeError(op, `weights of ${formatShape(w.shape)} do not go over x of ${formatShape(x.shape)}`);
  }
  return [x, w];
}

function expectBias(op: OpOf<"convolution">, bias: ValueType | undefined, channels: number): void {
  if (bias !== undefined) expectShape(op, bias.shape, [channels], "the bias");
}

/** A hint for images with the channels last, as in TensorFlow and image files. */
const layoutHint = (shape: readonly number[], channels: number): string =>
  shape.length === 4 && shape[3] === channels ? "; images are [batch, channels, height, width]" : "";

const conv = (inputs: readonly ValueType[], attributes: OpAttributes["Conv"]): readonly ValueType[] => {
  const [x, w] = checkOperands("Conv", inputs);
  const { group } = attributes;
  const [batch = 0, channels = 0, ...sizes] = x.shape;
  const [results = 0, spanned = 0, ...kernel] = w.shape;
  expectGroups("Conv", group, { channels, kernels: results });
  if (spanned * group !== channels) {
    throw shapeError(
      "Conv",
      `weights of ${formatShape(w.shape)} in ${group} groups span ${spanned * group} channels, x of ${formatShape(x.shape)} has ${channels}${layoutHint(x.shape, spanned * group)}`,
    );
  }
  expectBias("Conv", inputs[2], results);
  return [{ dtype: x.dtype, shape: [batch, results, ...windowSizes("Conv", sizes, kernel, attributes)] }];
};

export const convolutionInfer: InferTable<OpOf<"convolution">> = {
  Conv: conv,
  ConvTranspose: (inputs, attributes) => {
    const op = "ConvTranspose";
    const [x, w] = checkOperands(op, inputs);
    const { group, strides, pads, dilations, outputPadding } = attributes;
    const [batch = 0, channels = 0, ...sizes] = x.shape;
    const [kernels = 0, spanned = 0, ...kernel] = w.shape;
    expectWindow(op, sizes.length, attributes);
    expectIntegers(op, "outputPadding", outputPadding, sizes.length, 0);
    expectGroups(op, group, { channels });
    if (kernels !== channels) {
      throw shapeError(
        op,
        `weights of ${formatShape(w.shape)} are for ${kernels} channels, x of ${formatShape(x.shape)} has ${channels}${layoutHint(x.shape, kernels)}`,
      );
    }
    if (outputPadding.some((padding, axis) => padding >= (strides[axis] ?? 1))) {
      throw argumentError(
        op,
        `output paddings must be below their strides, got [${outputPadding.join(", ")}] with [${strides.join(", ")}]`,
      );
    }
    expectBias(op, inputs[2], spanned * group);
    const out = sizes.map((size, axis) => {
      const cut = (pads[axis] ?? 0) + (pads[axis + sizes.length] ?? 0);
      const extent = windowExtent(kernel[axis] ?? 1, dilations[axis] ?? 1);
      return (size - 1) * (strides[axis] ?? 1) + extent + (outputPadding[axis] ?? 0) - cut;
    });
    if (out.some((size) => size < 1)) {
      throw shapeError(
        op,
        `pads ${formatShape(pads)} leave nothing of what kernels of ${formatShape(kernel)} make of ${formatShape(sizes)}`,
      );
    }
    return [{ dtype: x.dtype, shape: [batch, spanned * group, ...out] }];
  },
  ConvWeightGradient: (inputs, attributes) => {
    const op = "ConvWeightGradient";
    const [x, dy] = operands(op, inputs, 2);
    expectDType(op, x);
    expectSameDType(op, inputs);
    expectChanneled(op, "x", x);
    expectChanneled(op, "dy", dy);
    const { group, kernelShape } = attributes;
    const [batch = 0, channels = 0, ...sizes] = x.shape;
    const [, results = 0] = dy.shape;
    expectIntegers(op, "kernelShape", kernelShape, sizes.length, 1);
    expectGroups(op, group, { "channels of x": channels, "channels of dy": results });
    expectShape(op, dy.shape, [batch, results, ...windowSizes(op, sizes, kernelShape, attributes)], "dy");
    return [{ dtype: x.dtype, shape: [results, channels / group, ...kernelShape] }];
  },
};
