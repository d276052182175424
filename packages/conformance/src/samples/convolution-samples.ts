import {
  type DType,
  elementCount,
  type HostTensor,
  type OpAttributes,
  type OpOf,
  type Shape,
} from "@mp/graph";
import { type Draws, generate, inDType } from "../host-data.js";
import { type Behaviours, type OpSample, positives, smallIntegers } from "./op-sample.js";

/** A convolution of x by w. Omitted strides, dilations and groups are 1, omitted pads 0. */
export interface Convolved {
  readonly x: Shape;
  readonly w: Shape;
  readonly strides?: readonly number[];
  readonly pads?: readonly number[];
  readonly dilations?: readonly number[];
  readonly group?: number;
}

const LINES: readonly Convolved[] = [
  { x: [2, 3, 7], w: [4, 3, 3] },
  { x: [1, 4, 9], w: [6, 2, 2], group: 2, strides: [2], pads: [1, 0], dilations: [2] },
  { x: [3, 2, 5], w: [4, 1, 3], group: 2, pads: [2, 1] },
];

const IMAGES: readonly Convolved[] = [
  { x: [2, 3, 5, 7], w: [4, 3, 3, 3], pads: [1, 1, 1, 1] },
  { x: [1, 1, 1, 1], w: [1, 1, 1, 1] },
  { x: [2, 5, 3, 4], w: [3, 5, 1, 1] },
  { x: [2, 3, 6, 5], w: [2, 3, 1, 1], strides: [2, 2] },
  { x: [2, 2, 28, 28], w: [2, 2, 1, 1], strides: [2, 2] },
  { x: [1, 3, 5, 6], w: [5, 3, 1, 1], strides: [2, 1], pads: [1, 0, 0, 0] },
  { x: [1, 2, 9, 8], w: [3, 2, 3, 2], strides: [2, 3], pads: [1, 0, 2, 1] },
  { x: [2, 2, 8, 7], w: [3, 2, 3, 3], strides: [3, 2], pads: [1, 2, 0, 1] },
  { x: [1, 17, 6, 6], w: [18, 17, 3, 3], pads: [1, 1, 1, 1] },
];

const DILATED: readonly Convolved[] = [
  { x: [2, 2, 7, 8], w: [3, 2, 3, 2], dilations: [2, 3] },
  { x: [1, 2, 7, 9], w: [2, 2, 2, 3], dilations: [3, 2], strides: [2, 1], pads: [2, 0, 1, 3] },
];

const GROUPED: readonly Convolved[] = [
  { x: [2, 4, 5, 4], w: [6, 2, 2, 3], group: 2, pads: [0, 1, 1, 1] },
  { x: [1, 6, 4, 4], w: [3, 2, 3, 3], group: 3, strides: [2, 2], pads: [1, 1, 1, 1] },
];

const DEPTHWISE: readonly Convolved[] = [
  { x: [2, 3, 5, 5], w: [3, 1, 3, 3], group: 3, pads: [1, 1, 1, 1] },
  { x: [1, 4, 6, 5], w: [8, 1, 2, 3], group: 4, strides: [2, 2], pads: [0, 1, 1, 1] },
  { x: [1, 3, 7, 6], w: [3, 1, 3, 2], group: 3, strides: [1, 2], dilations: [2, 1] },
];

const VOLUMES: readonly Convolved[] = [
  { x: [2, 2, 3, 4, 5], w: [3, 2, 2, 3, 1], pads: [1, 1, 0, 0, 1, 0] },
  { x: [1, 3, 4, 5, 4], w: [2, 3, 3, 2, 2], strides: [1, 2, 2], pads: [1, 0, 1, 2, 1, 0] },
  { x: [1, 4, 4, 3, 5], w: [4, 2, 2, 2, 2], group: 2, dilations: [2, 1, 3] },
];

/** Images that only their pads make as large as the kernel, and pads that contain whole windows. */
const OVERHANGING: readonly Convolved[] = [
  { x: [1, 2, 2, 2], w: [3, 2, 5, 4], pads: [2, 1, 2, 1] },
  { x: [2, 1, 1, 3], w: [2, 1, 3, 3], pads: [1, 2, 1, 2] },
  { x: [1, 1, 2, 3], w: [1, 1, 2, 1], pads: [3, 2, 1, 2] },
];

/** Channel and image counts that fill the blocks of engines' layouts, and counts close to them. */
const BLOCKS: readonly Convolved[] = [
  { x: [16, 16, 5, 6], w: [32, 16, 3, 3], pads: [1, 1, 1, 1] },
  { x: [16, 32, 7, 6], w: [16, 32, 3, 2], strides: [2, 2], pads: [1, 0, 1, 1] },
  { x: [32, 16, 4, 7], w: [16, 16, 2, 3], dilations: [2, 1], strides: [1, 3] },
  { x: [16, 16, 5, 4], w: [16, 16, 1, 1], strides: [2, 2] },
  { x: [16, 3, 6, 5], w: [16, 3, 3, 3], pads: [1, 1, 1, 1] },
  { x: [1, 16, 3, 2], w: [16, 16, 5, 4], pads: [2, 3, 3, 2] },
  { x: [2, 16, 4, 4], w: [20, 16, 3, 3], pads: [1, 1, 1, 1] },
  { x: [10, 20, 4, 3], w: [24, 20, 3, 3], pads: [1, 1, 1, 1] },
  { x: [2, 32, 4, 4], w: [32, 16, 3, 3], group: 2, pads: [1, 1, 1, 1] },
  { x: [2, 32, 5, 4], w: [32, 1, 3, 3], group: 32, pads: [1, 1, 1, 1] },
];

/** Batches without images, for which weight gradients are sums without terms. */
const EMPTY: readonly Convolved[] = [
  { x: [0, 2, 4, 5], w: [3, 2, 3, 3], pads: [1, 1, 1, 1] },
  { x: [0, 4, 5, 5], w: [4, 1, 3, 3], group: 4 },
  { x: [0, 4, 6], w: [6, 2, 2], group: 2, pads: [1, 0] },
  { x: [0, 2, 3, 4, 4], w: [3, 2, 2, 2, 2] },
];

const GROUPS: Readonly<Record<string, readonly Convolved[]>> = {
  lines: LINES,
  values: IMAGES,
  dilated: DILATED,
  grouped: GROUPED,
  "each-channel": DEPTHWISE,
  volumes: VOLUMES,
  "overhanging-kernels": OVERHANGING,
  "many-channels": BLOCKS,
  "empty-batch": EMPTY,
};

const ALL: readonly Convolved[] = Object.values(GROUPS).flat();

const fullWindow = ({ w, strides, pads, dilations, group = 1 }: Convolved): OpAttributes["Conv"] => {
  const rank = w.length - 2;
  const each = (number: number, count = rank): readonly number[] => new Array<number>(count).fill(number);
  return {
    strides: strides ?? each(1),
    pads: pads ?? each(0, 2 * rank),
    dilations: dilations ?? each(1),
    group,
  };
};

const sizesWithPads = (sample: Convolved): readonly number[] => {
  const { pads } = fullWindow(sample);
  const sizes = sample.x.slice(2);
  return sizes.map((size, axis) => size + (pads[axis] ?? 0) + (pads[axis + sizes.length] ?? 0));
};

const extents = (sample: Convolved): readonly number[] => {
  const { dilations } = fullWindow(sample);
  return sample.w.slice(2).map((size, axis) => (size - 1) * (dilations[axis] ?? 1) + 1);
};

/** The shape of the result, and the number of elements left after the last position of the kernel on each axis. */
function resultShape(sample: Convolved): { readonly y: Shape; readonly rest: readonly number[] } {
  const { strides } = fullWindow(sample);
  const room = sizesWithPads(sample).map((size, axis) => size - (extents(sample)[axis] ?? 1));
  const out = room.map((size, axis) => Math.floor(size / (strides[axis] ?? 1)) + 1);
  return {
    y: [sample.x[0] ?? 0, sample.w[0] ?? 0, ...out],
    rest: room.map((size, axis) => size % (strides[axis] ?? 1)),
  };
}

export type Draw = (dtype: DType, shape: Shape) => HostTensor;
export type ConvolutionOp = OpOf<"convolution">;
export type Make<K extends ConvolutionOp> = (
  sample: Convolved,
  draw: Draw,
  dtype: DType,
  biased: boolean,
) => OpSample<K>;

export const conv: Make<"Conv"> = (sample, draw, dtype, biased) => ({
  attributes: fullWindow(sample),
  inputs: [sample.x, sample.w, ...(biased ? [sample.w.slice(0, 1)] : [])].map((shape) => draw(dtype, shape)),
});

/** The transposed convolution of the result, back to the size of the input. */
export const convTranspose: Make<"ConvTranspose"> = (sample, draw, dtype, biased) => {
  const { y, rest } = resultShape(sample);
  const shapes = [y, sample.w, ...(biased ? [sample.x.slice(1, 2)] : [])];
  return {
    attributes: { ...fullWindow(sample), outputPadding: rest },
    inputs: shapes.map((shape) => draw(dtype, shape)),
  };
};

export const weightGradient: Make<"ConvWeightGradient"> = (sample, draw, dtype) => ({
  attributes: { ...fullWindow(sample), kernelShape: sample.w.slice(2) },
  inputs: [sample.x, resultShape(sample).y].map((shape) => draw(dtype, shape)),
});

const EXACT = "whole-numbers-are-exact";
const BIASED = "bias";
const EXACT_BIASED = "whole-numbers-with-a-bias-are-exact";

/** Replaces an operand whose data is not read. */
const NOTHING = generate("f32", [0], () => 0);

/** One node of the op for each form, on several kinds of data. */
export function convolutionBehaviours<K extends ConvolutionOp>(
  make: Make<K>,
  draws: Draws,
  takesBias: boolean,
): Behaviours<K> {
  const drawOf =
    (behaviour: string, draw: (draws: Draws, shape: Shape) => HostTensor): Draw =>
    (type, shape) => {
      if (draws.only === undefined || draws.only === behaviour) return draw(inDType(draws, type), shape);
      draws.random.skip(elementCount(shape, "test data"));
      return NOTHING;
    };
  const infiniteAt =
    (place: number): Draw =>
    (type, shape) =>
      generate(type, shape, (at) => (at === place && shape[0] === 2 ? Number.POSITIVE_INFINITY : 1));
  const ones = make({ x: [2, 2, 4, 4], w: [4, 2, 2, 2] }, infiniteAt(-1), draws.dtype, false);
  const infinityByZeros = ones.inputs.map(({ shape }, place) =>
    generate(draws.dtype, shape, (at) => (place === 1 ? at % 2 : at === 5 ? Number.POSITIVE_INFINITY : 1)),
  );
  const values = Object.entries(GROUPS).map(
    ([name, samples]) =>
      [name, samples.map((sample) => make(sample, drawOf(name, positives), draws.dtype, false))] as const,
  );
  const exact = (behaviour: string, biased: boolean): readonly OpSample<K>[] =>
    ALL.map((sample) => ({
      ...make(sample, drawOf(behaviour, smallIntegers), draws.dtype, biased),
      exact: true,
    }));
  return {
    ...Object.fromEntries(values),
    [EXACT]: exact(EXACT, false),
    ...(takesBias && {
      [BIASED]: ALL.map((sample) => make(sample, drawOf(BIASED, positives), draws.dtype, true)),
      [EXACT_BIASED]: exact(EXACT_BIASED, true),
    }),
    // Without pads and with an even number of channels: engines multiply f16 and bf16 channels in pairs, and may add
    // the product of an infinity and a padding 0, which is NaN.
    "non-finite-terms": [make({ x: [2, 2, 4, 4], w: [4, 2, 2, 2] }, infiniteAt(5), draws.dtype, false)],
    // A kernel that skips terms with a 0 hides the NaN that the finite check looks for.
    "zeros-times-infinity": [{ ...ones, inputs: infinityByZeros }],
  };
}
