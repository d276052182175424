/** Channels, kernels and widths that do not fill blocks. */
import type { DType, Shape } from "@mp/core";
import type { OpOf } from "@mp/core/graph";
import { type ConvolutionOp, type Convolved, convolutionSample } from "../convolution-samples.js";
import type { GeneratedRow, GeneratedRows } from "../generated-row.js";
import { formAt, lengthsOf, terms, triplesOf } from "./tail-data.js";

/** The kernel, which a narrow image may not have room for. */
const up = (size: number, most: number): number => Math.min(size, most);

/** Convolutions of each channel by itself, of all channels, and of one channel. */
const ALONG: readonly ((length: number) => Convolved)[] = [
  (n) => ({ x: [1, n, 3, 4], w: [n, 1, 2, 3], group: n, pads: [0, 1, 1, 1] }),
  (n) => ({ x: [1, n, 5], w: [n, 1, 3], group: n }),
  (n) => ({ x: [1, 2, 2, n], w: [3, 2, 2, up(n, 3)] }),
  (n) => ({ x: [2, 1, n], w: [1, 1, 3], pads: [1, 1] }),
  (n) => ({ x: [1, 2, n, 2], w: [2, 1, up(n, 3), 1], group: 2, strides: [2, 1] }),
  (n) => ({ x: [1, 3, 4, n], w: [3, 1, 3, 3], group: 3, pads: [1, 1, 1, 1] }),
  (n) => ({ x: [1, 2, n + 2], w: [2, 2, n] }),
  (n) => ({ x: [n, 2, 2, 2], w: [3, 2, 1, 2] }),
];

/** Channels in and out, with kernels of one element and of more. */
const CHANNELS: readonly ((channels: number, results: number, width: number) => Convolved)[] = [
  (c, m, width) => ({ x: [1, c, 1, width], w: [m, c, 1, 1] }),
  (c, m) => ({ x: [1, c, 3, 2], w: [m, c, 2, 2] }),
  (c, m) => ({ x: [2, c, 3], w: [m, c, 3], pads: [1, 1] }),
];

function row<K extends ConvolutionOp>(op: K): GeneratedRow<K> {
  return (dtype, random) => {
    const draw = (of: DType, shape: Shape) => terms(random, of, shape, 2);
    const make = convolutionSample[op];
    const of = (sample: Convolved, at: number) => ({
      ...make(sample, draw, dtype, at % 2 === 0 && op !== "ConvWeightGradient"),
      exact: true,
    });
    const pairs = triplesOf(dtype).filter((_, at) => at % 2 === 0);
    return [
      ...lengthsOf(dtype).map((length) => of(formAt(ALONG, length)(length), length)),
      ...pairs.map(([c, m, width], at) => {
        const form = CHANNELS[at % CHANNELS.length];
        if (form === undefined) throw new Error("internal: a form for each pair");
        return of(form(c, m, width), at);
      }),
    ];
  };
}

export const convolutionTails: GeneratedRows<OpOf<"convolution">> = {
  Conv: row("Conv"),
  ConvTranspose: row("ConvTranspose"),
  ConvWeightGradient: row("ConvWeightGradient"),
};
