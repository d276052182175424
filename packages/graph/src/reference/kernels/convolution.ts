// Convolutions as matrix products. A column has the elements under one position of the kernel. `unfold` makes the
// columns, and `fold` adds them back to those elements. Missing axes get size 1, so that there are always three.

import type { KernelWindow } from "../../graph/attributes.js";
import type { OpOf } from "../../graph/families.js";
import type { Shape } from "../../shape.js";
import type { Arithmetic } from "../elements/arithmetic.js";
import { outputType, type ReferenceTable } from "../elements/kernel.js";
import { type FloatStore, type Operand, operand, readFloats, type Store } from "../elements/store.js";
import { countElements } from "../elements/strided.js";
import { type MatrixView, multiply } from "./multiply.js";

type Three = readonly [number, number, number];

/** The positions at which a kernel is applied to an image of several channels. */
interface Geometry {
  readonly channels: number;
  readonly image: Three;
  readonly kernel: Three;
  readonly positions: Three;
  readonly strides: Three;
  readonly dilations: Three;
  readonly before: Three;
}

const three = (list: readonly number[], missing: number): Three =>
  [...new Array<number>(3 - list.length).fill(missing), ...list] as unknown as Three;

function findGeometry(
  channels: number,
  image: Shape,
  kernel: Shape,
  positions: Shape,
  { strides, dilations, pads }: KernelWindow,
): Geometry {
  return {
    channels,
    image: three(image, 1),
    kernel: three(kernel, 1),
    positions: three(positions, 1),
    strides: three(strides, 1),
    dilations: three(dilations, 1),
    before: three(pads.slice(0, image.length), 0),
  };
}

/** The range of positions [first, end) at which one tap of the kernel is inside the image. */
function inside(
  axis: 0 | 1 | 2,
  tap: number,
  { image, positions, strides, dilations, before }: Geometry,
): readonly [number, number] {
  const [stride, offset] = [strides[axis], tap * dilations[axis] - before[axis]];
  const first = Math.max(0, Math.ceil(-offset / stride));
  return [first, Math.min(positions[axis], Math.floor((image[axis] - 1 - offset) / stride) + 1)];
}

type VisitRow = (image: number, column: number, count: number) => void;

/** Calls back for each row of positions inside the image, with the row's start in the image and in the columns. */
function forEachRow(geometry: Geometry, visit: VisitRow): void {
  const { channels, image, kernel, positions, strides, dilations, before } = geometry;
  const pixels = image[0] * image[1] * image[2];
  let row = 0;
  for (let channel = 0; channel < channels; channel++) {
    for (let a = 0; a < kernel[0]; a++) {
      const [firstZ, endZ] = inside(0, a, geometry);
      for (let b = 0; b < kernel[1]; b++) {
        const [firstY, endY] = inside(1, b, geometry);
        for (let c = 0; c < kernel[2]; c++, row++) {
          const [firstX, endX] = inside(2, c, geometry);
          if (endX <= firstX) continue;
          const x = firstX * strides[2] + c * dilations[2] - before[2];
          for (let i = firstZ; i < endZ; i++) {
            const z = i * strides[0] + a * dilations[0] - before[0];
            for (let j = firstY; j < endY; j++) {
              const y = j * strides[1] + b * dilations[1] - before[1];
              const at = channel * pixels + (z * image[1] + y) * image[2] + x;
              visit(at, ((row * positions[0] + i) * positions[1] + j) * positions[2] + firstX, endX - firstX);
            }
          }
        }
      }
    }
  }
}

/** Fills the columns [channels · taps, positions] from an image; elements outside the image are left unchanged. */
function unfold(image: FloatStore, start: number, columns: FloatStore, geometry: Geometry): void {
  const step = geometry.strides[2];
  forEachRow(geometry, (from, to, count) => {
    for (let i = 0; i < count; i++) columns[to + i] = image[start + from + i * step] as number;
  });
}

/** The reverse of `unfold`: sums overlapping positions. Storing rounds each sum. */
function fold(columns: FloatStore, image: FloatStore, start: number, geometry: Geometry): void {
  const step = geometry.strides[2];
  forEachRow(geometry, (to, from, count) => {
    for (let i = 0; i < count; i++) {
      const at = start + to + i * step;
      image[at] = (image[at] as number) + (columns[from + i] as number);
    }
  });
}

const view = (data: FloatStore, start: number, row: number, column = 1): MatrixView => ({
  data,
  start,
  row,
  column,
});

/** Adds the bias of each channel, if any, and rounds. */
function finishSums(
  out: FloatStore,
  bias: Operand | undefined,
  outputs: Parameters<typeof outputType>[0],
  arithmetic: Arithmetic,
): readonly Store[] {
  const { dtype, shape } = outputType(outputs);
  if (bias !== undefined) {
    const numbers = readFloats(bias);
    const pixels = countElements(shape.slice(2));
    for (let at = 0; at < out.length; at++) {
      out[at] = (out[at] as number) + (numbers[Math.floor(at / pixels) % numbers.length] as number);
    }
  }
  return [arithmetic.round(dtype, out)];
}

/** Products and sums (including the bias) are in f32 for every dtype, with one rounding to the dtype at the end. */
export const convolutionKernels: ReferenceTable<OpOf<"convolution">> = {
  Conv: (inputs, attributes, outputs, arithmetic) => {
    const [x, w] = [operand(inputs, 0), operand(inputs, 1)];
    const { shape } = outputType(outputs);
    const { group } = attributes;
    const [batch = 0, results = 0, ...positions] = shape;
    const [, channels = 0, ...kernel] = w.shape;
    const image = x.shape.slice(2);
    const geometry = findGeometry(channels, image, kernel, positions, attributes);
    const [m, k, n] = [results / group, channels * countElements(kernel), countElements(positions)];
    const columns = arithmetic.floats(k * n);
    const out = arithmetic.floats(countElements(shape));
    for (let part = 0; part < batch * group; part++) {
      unfold(readFloats(x), part * channels * countElements(image), columns, geometry);
      const weights = view(readFloats(w), (part % group) * m * k, k);
      multiply(out, part * m * n, weights, view(columns, 0, n), m, k, n);
    }
    return finishSums(out, inputs[2], outputs, arithmetic);
  },

  ConvTranspose: (inputs, attributes, outputs, arithmetic) => {
    const [x, w] = [operand(inputs, 0), operand(inputs, 1)];
    const { shape } = outputType(outputs);
    const { group } = attributes;
    const [batch = 0, channels = 0, ...positions] = x.shape;
    const [, results = 0, ...kernel] = w.shape;
    const image = shape.slice(2);
    const geometry = findGeometry(results, image, kernel, positions, attributes);
    const [m, k, n] = [results * countElements(kernel), channels / group, countElements(positions)];
    const columns = arithmetic.floats(m * n);
    const out = arithmetic.floats(countElements(shape));
    for (let part = 0; part < batch * group; part++) {
      columns.fill(0);
      const weights = view(readFloats(w), (part % group) * k * m, 1, m);
      multiply(columns, 0, weights, view(readFloats(x), part * k * n, n), m, k, n);
      fold(columns, out, part * results * countElements(image), geometry);
    }
    return finishSums(out, inputs[2], outputs, arithmetic);
  },

  ConvWeightGradient: (inputs, attributes, outputs, arithmetic) => {
    const [x, dy] = [operand(inputs, 0), operand(inputs, 1)];
    const { dtype, shape } = outputType(outputs);
    const { group, kernelShape } = attributes;
    const [results = 0, channels = 0] = shape;
    const [batch = 0, , ...positions] = dy.shape;
    const image = x.shape.slice(2);
    const geometry = findGeometry(channels, image, kernelShape, positions, attributes);
    const [m, k, n] = [results / group, countElements(positions), channels * countElements(kernelShape)];
    const columns = arithmetic.floats(n * k);
    const out = arithmetic.floats(countElements(shape));
    for (let part = 0; part < batch * group; part++) {
      unfold(readFloats(x), part * channels * countElements(image), columns, geometry);
      const gradient = view(readFloats(dy), part * m * k, k);
      multiply(out, (part % group) * m * n, gradient, view(columns, 0, 1, k), m, k, n);
    }
    return [arithmetic.round(dtype, out)];
  },
};
