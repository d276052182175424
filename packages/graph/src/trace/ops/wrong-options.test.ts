/** Tests that wrong options of a JavaScript program give an error with their name before anything is allocated. */
import { describe, expect, it } from "vitest";
import { type Graph, isNode } from "../../graph/graph.js";
import { full } from "../../host/host-tensor.js";
import type { Shape } from "../../shape.js";
import { foldIn, key, randomBernoulli, randomUniform } from "../random/random.js";
import { randomNormal } from "../random/random-normal.js";
import type { Tensor } from "../tensor.js";
import { traceInto } from "../trace.js";
import { attention } from "./attention.js";
import { batchNormalization, normalizeByStatistics } from "./batch-normalization.js";
import { greater, mod, where } from "./binary.js";
import { conv, convTranspose } from "./convolution.js";
import { groupNormalization, instanceNormalization } from "./group-normalization.js";
import { depthToSpace, lrn, spaceToDepth } from "./image.js";
import { gatherND, oneHot } from "./indexing.js";
import { softmaxCrossEntropyLoss } from "./loss.js";
import { gemm } from "./matrix.js";
import {
  concat,
  expand,
  pad,
  reshape,
  slice,
  split,
  squeeze,
  stack,
  tile,
  transpose,
  unsqueeze,
} from "./movement.js";
import { layerNormalization, rmsNormalization, softmax } from "./normalization.js";
import { averagePool, maxPool } from "./pooling.js";
import { argMax, cumSum, reduceMean, topK } from "./reduce.js";
import { resize } from "./resize.js";
import { constant, literal, range } from "./source.js";
import { cast, clip, elu, gelu, leakyRelu } from "./unary.js";

const shapes = { x: [1, 4, 6, 6], w: [4, 4, 3, 3], c: [4], rows: [6, 6], last: [6], labels: [6] } as const;
type Tensors = Readonly<Record<keyof typeof shapes, Tensor>>;
type Call = (options: never, tensors: Tensors) => unknown;

function graphOf(fn: (tensors: Tensors) => unknown): Graph {
  const inputs = Object.entries(shapes).map(([name, shape]: [string, Shape]) => {
    const dtype = name === "labels" ? ("i32" as const) : ("f32" as const);
    return { name, role: "batch" as const, type: { dtype, shape } };
  });
  return traceInto(inputs, (tensors) => {
    const byName = Object.fromEntries(tensors.map((tensor, at) => [inputs[at]?.name, tensor]));
    return fn(byName as Tensors) as Tensor;
  }).graph;
}

/** Each function with valid options; the tests replace one option at a time. */
const calls: Readonly<Record<string, readonly [call: Call, options: Readonly<Record<string, unknown>>]>> = {
  conv: [(o, { x, w }) => conv(x, w, o), { strides: 2, pads: [1, 1], dilations: 1, group: 1 }],
  "conv same": [(o, { x, w }) => conv(x, w, o), { strides: 2, dilations: 1, autoPad: "same" }],
  convTranspose: [
    (o, { x, w }) => convTranspose(x, w, o),
    { strides: 2, pads: 1, dilations: 1, group: 1, outputPadding: 1 },
  ],
  "convTranspose same": [(o, { x, w }) => convTranspose(x, w, o), { strides: 2, autoPad: "same" }],
  maxPool: [(o, { x }) => maxPool(x, 2, o), { strides: 2, pads: 1, dilations: 1, ceilMode: true }],
  averagePool: [
    (o, { x }) => averagePool(x, 2, o),
    { strides: 2, autoPad: "same", dilations: 1, countIncludePad: true },
  ],
  "a kernel": [({ kernel }: { kernel: number }, { x }) => maxPool(x, kernel), { kernel: 2 }],
  "resize sizes": [
    (o, { x }) => resize(x, o),
    { sizes: 12, mode: "linear", coordinates: "half_pixel", nearest: "floor" },
  ],
  "resize scales": [(o, { x }) => resize(x, o), { scales: [2, 2] }],
  batchNormalization: [(o, { x, c }) => batchNormalization(x, c, c, o).y, { epsilon: 1e-3 }],
  normalizeByStatistics: [
    (o, { x, c }) => normalizeByStatistics(x, c, c, { mean: c, variance: c }, o),
    { epsilon: 1e-3 },
  ],
  groupNormalization: [(o, { x, c }) => groupNormalization(x, c, c, o), { numGroups: 2, epsilon: 1e-3 }],
  instanceNormalization: [(o, { x, c }) => instanceNormalization(x, c, c, o), { epsilon: 1e-3 }],
  layerNormalization: [(o, { x, last }) => layerNormalization(x, last, last, o), { epsilon: 1e-3, axis: 3 }],
  rmsNormalization: [(o, { x, last }) => rmsNormalization(x, last, o), { epsilon: 1e-3, axis: 3 }],
  lrn: [(o, { x }) => lrn(x, o), { size: 3, alpha: 0.1, beta: 0.5, bias: 0.5 }],
  depthToSpace: [(o, { x }) => depthToSpace(x, 2, o), { mode: "CRD" }],
  spaceToDepth: [
    ({ blockSize }: { blockSize: number }, { x }) => spaceToDepth(x, blockSize),
    { blockSize: 2 },
  ],
  softmaxCrossEntropyLoss: [
    (o, t) => softmaxCrossEntropyLoss(t.rows, t.labels, o),
    { reduction: "sum", ignoreIndex: -1 },
  ],
  reduceMean: [(o, { x }) => reduceMean(x, o), { axes: [1], keepdims: true }],
  argMax: [(o, { x }) => argMax(x, o), { axis: 1, keepdims: true }],
  topK: [(o, { x }) => topK(x, 2, o).values, { axis: 1, largest: false }],
  cumSum: [(o, { x }) => cumSum(x, 1, o), { exclusive: true, reverse: true }],
  gemm: [(o, { rows }) => gemm(rows, rows, rows, o), { transA: true, transB: true, alpha: 0.5, beta: 0.5 }],
  leakyRelu: [({ alpha }: { alpha: number }, { x }) => leakyRelu(x, alpha), { alpha: 0.1 }],
  elu: [({ alpha }: { alpha: number }, { x }) => elu(x, alpha), { alpha: 0.1 }],
  gelu: [(o, { x }) => gelu(x, o), { approximate: "tanh" }],
  clip: [(o, { x }) => clip(x, o), { min: 0.5, max: 1.5 }],
  mod: [(o, { x }) => mod(x, x, o), { fmod: true }],
  pad: [(o, { c }) => pad(c, [[1, 1]], o), { mode: "edge", value: 0.5 }],
  oneHot: [(o, t) => oneHot(t.labels, 3, o), { axis: 1, dtype: "f16" }],
};

const wrong: readonly unknown[] = [null, "two", {}, [null], ["2"], Number.NaN, () => 2, 1e300, [1e300, 0.5]];

/** The name of an option in the message, if it differs from the option's own. */
const NAMED: Readonly<Record<string, string>> = { axes: "ax[ei]s" };

const overwritten = Object.entries(calls).flatMap(([name, [call, options]]) =>
  Object.keys(options).map((option) => ({ name, call, options, option })),
);

/** Options that take fractions accept any number, also an infinite one or NaN, or have their own range. */
const isOfItsKind = (right: unknown, value: unknown): boolean =>
  typeof right === "number" && !Number.isInteger(right) && typeof value === "number";

describe("an option that is none is refused with a code, its name and its value", () => {
  it.each(overwritten)("$name, $option", ({ call, options, option }) => {
    const run = (value: unknown): unknown =>
      graphOf((tensors) => call({ ...options, [option]: value } as never, tensors));
    expect(() => run(options[option])).not.toThrow();
    for (const value of wrong.filter((given) => !isOfItsKind(options[option], given))) {
      expect(() => run(value)).toThrow(
        expect.objectContaining({ name: "MpError", message: expect.stringMatching(NAMED[option] ?? option) }),
      );
    }
  });

  it("an epsilon must be a number ≥ 0 that is finite in f32", () => {
    for (const epsilon of [-1e-5, Number.NaN, Number.POSITIVE_INFINITY, 1e39]) {
      const normalized = (): unknown => graphOf(({ x, c }) => batchNormalization(x, c, c, { epsilon }).y);
      expect(normalized).toThrow(/epsilon must be a number ≥ 0, finite in f32, got/);
    }
  });

  it("a bias is a tensor", () => {
    for (const bias of [null, 0, "c"]) {
      expect(() => graphOf(({ x, w }) => conv(x, w, { bias } as never))).toThrow(
        /Conv: takes traced tensors, got/,
      );
    }
  });
});

describe("what is no list, no number or no dtype in its place is refused with a code", () => {
  const none: readonly unknown[] = [null, 2.5, "two", {}, [null], ["2"], () => 2, 1n, Symbol("2")];
  it.each<[string, (wrong: never, tensors: Tensors) => unknown]>([
    ["reshape", (o, { x }) => reshape(x, o)],
    ["transpose", (o, { x }) => transpose(x, o)],
    ["slice", (o, { x }) => slice(x, o)],
    ["a range's end", (o, { x }) => slice(x, [{ axis: 0, end: o }])],
    ["concat", (o) => concat(o)],
    ["stack", (o) => stack(o)],
    ["split", (o, { x }) => split(x, o)[0]],
    ["expand", (o, { c }) => expand(c, o)],
    ["squeeze", (o, { x }) => squeeze(x, o)],
    ["unsqueeze", (o, { x }) => unsqueeze(x, o)],
    ["pad", (o, { c }) => pad(c, o)],
    ["tile", (o, { c }) => tile(c, o)],
    ["constant", (o) => constant(o)],
    ["an axis", (o, { x }) => softmax(x, o)],
    ["cast", (o, { x }) => cast(x, o)],
    ["cast of", (o) => cast(o, "f16")],
    ["literal", (o) => literal(typeof o === "number" ? (null as never) : o)],
    ["a literal's dtype", (o) => literal(1, o)],
    ["where", (o, { x }) => where(greater(x, 0), x, typeof o === "number" ? (null as never) : o)],
    ["full", (o) => constant(full([2], 1, o))],
    ["randomUniform", (o) => randomUniform(o, [2])],
    ["randomNormal", (o) => randomNormal(o, [2])],
    ["a shape of randomness", (o) => randomUniform(key(1), o)],
    ["a probability", (o) => randomBernoulli(key(1), o, [2])],
  ])("%s", (_, call) => {
    for (const wrong of none) {
      expect(() => graphOf((tensors) => call(wrong as never, tensors))).toThrow(
        expect.objectContaining({ name: "MpError" }),
      );
    }
  });

  it("of a name below a key", () => {
    for (const name of [null, undefined, {}, 1n]) {
      expect(() => foldIn(key(1), name as never)).toThrow("foldIn: a name must be a string or a number, got");
    }
  });

  it("batch dimensions that the indices do not have", () => {
    for (const batchDims of [-5, 2]) {
      const gathered = (): unknown =>
        graphOf(({ rows, labels }) => gatherND(rows, reshape(labels, [3, 2]), batchDims));
      expect(gathered).toThrow("GatherND: batchDims must be from 0 to 1 for indices [3, 2], got");
    }
  });

  it("places that engines count in 32 bits", () => {
    expect(() => graphOf(({ x }) => slice(x, [{ axis: 0, step: 2 ** 40 }]))).toThrow(
      "Slice: steps must be integers",
    );
    expect(() => graphOf(({ x }) => maxPool(x, 2, { strides: 2 ** 31 }))).toThrow(
      "strides must be integers between",
    );
  });

  it("an options object in place of an axis, and a number in place of a tensor", () => {
    expect(() => graphOf(({ x }) => squeeze(x, { axes: [1] } as never))).toThrow(
      "Squeeze: axes must be a list of integers, got an object with axes",
    );
    expect(() => graphOf(({ x }) => concat([x, x], { axis: 1 } as never))).toThrow(
      "Concat: the axis must be an integer, got an object with axis",
    );
    expect(() => graphOf(() => constant(1 as never))).toThrow("got 1; literal(1) makes it");
  });

  it("bounds of NaN", () => {
    expect(() => graphOf(({ x }) => clip(x, { min: Number.NaN }))).toThrow(
      "min must be a number and not NaN, got NaN",
    );
    expect(() =>
      graphOf(({ x }) => clip(x, { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY })),
    ).not.toThrow();
  });
});

describe("a tensor that no engine holds is refused before it is made", () => {
  const huge = 1e9;
  it.each<[string, Call]>([
    ["resize", (_, { x }) => resize(x, { sizes: huge })],
    ["resize of one axis", (_, { x }) => resize(x, { sizes: [huge, 1] })],
    ["resize by a scale", (_, { x }) => resize(x, { scales: [1e8, 1] })],
    ["maxPool", (_, { x }) => maxPool(x, huge, { pads: huge - 1 })],
    ["maxPool of pads", (_, { x }) => maxPool(x, 2, { pads: huge })],
    ["averagePool", (_, { x }) => averagePool(x, huge, { pads: huge - 1, countIncludePad: true })],
    ["conv", (_, { x, w }) => conv(x, w, { pads: huge })],
    ["convTranspose", (_, { x, w }) => convTranspose(x, w, { strides: huge })],
    ["expand", (_, { x }) => expand(x, [huge, 4, 6, 6])],
    ["tile", (_, { x }) => tile(x, [huge, 1, 1, 1])],
    ["pad", (_, { c }) => pad(c, [[huge, 2 * huge]])],
    ["range", () => range(0, 1e12)],
    ["oneHot", (_, t) => oneHot(t.labels, huge)],
  ])("%s", (_, call) => {
    expect(() => graphOf((tensors) => call({} as never, tensors))).toThrow(
      expect.objectContaining({
        name: "MpError",
        code: expect.stringMatching(/^MP_(SHAPE_MISMATCH|INVALID_ARGUMENT)$/),
      }),
    );
  });

  it("an axis is split into 1 part or more", () => {
    for (const parts of [0, -2, 0.5, Number.NaN]) {
      expect(() => graphOf(({ x }) => split(x, parts, 3)[0])).toThrow(
        expect.objectContaining({ code: "MP_SHAPE_MISMATCH" }),
      );
    }
  });
});

it("causal is isCausal", () => {
  const options = { causal: true } as never;
  expect(() => graphOf(({ x }) => attention(x, x, x, options))).toThrow(
    'Attention: has no option "causal"; did you mean isCausal?',
  );
});

it("pads mean the same to convolutions and pools", () => {
  const padsOf = (options: object): readonly string[] => {
    const graph = graphOf(({ x, w }) => [
      conv(x, w, options),
      convTranspose(x, w, options),
      maxPool(x, 3, options),
      averagePool(x, 3, options),
    ]);
    return graph.nodes.flatMap((node) =>
      isNode(node, "Conv") ||
      isNode(node, "ConvTranspose") ||
      isNode(node, "MaxPool") ||
      isNode(node, "AveragePool")
        ? [node.attributes.pads.join()]
        : [],
    );
  };
  const four = (pads: string): readonly string[] => new Array(4).fill(pads);
  expect(padsOf({ pads: 1 })).toEqual(four("1,1,1,1"));
  expect(padsOf({ pads: [0, 1] })).toEqual(four("0,1,0,1"));
  expect(padsOf({ pads: [0, 1, 1, 0] })).toEqual(four("0,1,1,0"));
  expect(padsOf({ autoPad: "same", strides: 1 })).toEqual(four("1,1,1,1"));
  expect(padsOf({ autoPad: "valid" })).toEqual(four("0,0,0,0"));
  expect(() => padsOf({ pads: [1, 1, 1] })).toThrow(
    /pads takes a number, 2 for both sides of each axis, or 4/,
  );
});
