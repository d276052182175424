import { describe, expect, it } from "vitest";
import type { Graph } from "../../graph/graph.js";
import { isNode } from "../../graph/graph.js";
import type { Shape } from "../../shape.js";
import type { Tensor } from "../tensor.js";
import { traceInto } from "../trace.js";
import { type ConvOptions, type ConvTransposeOptions, conv, convTranspose } from "./convolution.js";

const traced = (fn: (x: Tensor, w: Tensor) => Tensor, x: Shape, w: Shape): Graph =>
  traceInto(
    [x, w].map((shape, index) => ({ name: `x${index}`, role: "batch", type: { dtype: "f32", shape } })),
    ([a, b]) => fn(a as Tensor, b as Tensor),
  ).graph;

const convolved = (x: Shape, w: Shape, options?: ConvOptions): Graph =>
  traced((image, weights) => conv(image, weights, options), x, w);
const transposed = (x: Shape, w: Shape, options?: ConvTransposeOptions): Graph =>
  traced((image, weights) => convTranspose(image, weights, options), x, w);

const resultOf = (graph: Graph): Shape => graph.outputs[0]?.value.shape ?? [];
const padsOf = (graph: Graph): readonly number[] => {
  const [node] = graph.nodes;
  return node !== undefined && (isNode(node, "Conv") || isNode(node, "ConvTranspose"))
    ? node.attributes.pads
    : [];
};

describe("autoPad", () => {
  it.each([
    [[7], [3], 1, 1],
    [[8], [4], 1, 1],
    [[7], [3], 2, 1],
    [[8], [3], 2, 1],
    [[5], [1], 3, 1],
    [[9], [3], 2, 3],
  ] as const)("same of %s under %s, stride %i, dilation %i", (size, kernel, stride, dilation) => {
    const graph = convolved([1, 1, ...size], [1, 1, ...kernel], {
      strides: stride,
      dilations: dilation,
      autoPad: "same",
    });
    expect(resultOf(graph)).toEqual([1, 1, Math.ceil(size[0] / stride)]);
    const [before = 0, after = 0] = padsOf(graph);
    expect([0, 1]).toContain(after - before);
  });

  it("same of a transposed convolution multiplies by the stride", () => {
    for (const [kernel, stride] of [
      [3, 2],
      [2, 3],
      [4, 2],
      [5, 1],
    ] as const) {
      // biome-ignore format: pairs
      const graph = transposed([1, 1, 5], [1, 1, kernel], { strides: stride, autoPad: "same" });
      expect(resultOf(graph)).toEqual([1, 1, 5 * stride]);
    }
  });

  it("valid pads nothing", () => {
    const graph = convolved([1, 2, 5, 5], [3, 2, 3, 3], { autoPad: "valid" });
    expect([resultOf(graph), padsOf(graph)]).toEqual([
      [1, 3, 3, 3],
      [0, 0, 0, 0],
    ]);
  });
});

it("a number stands for every axis", () => {
  const graph = convolved([1, 2, 9, 9], [3, 2, 3, 3], { strides: 2, pads: 1, dilations: 2 });
  expect(graph.nodes[0]?.attributes).toEqual({
    strides: [2, 2],
    pads: [1, 1, 1, 1],
    dilations: [2, 2],
    group: 1,
  });
});

describe("what does not fit together is refused with its sizes", () => {
  const image = [2, 4, 5, 5];
  it.each([
    [[3, 3, 2, 2], {}, "MP_SHAPE_MISMATCH", "span 3 channels, x of [2, 4, 5, 5] has 4"],
    [[3, 2, 2, 2], { group: 2 }, "MP_SHAPE_MISMATCH", "3 kernels do not divide into 2 groups"],
    [[3, 5, 2, 2], {}, "MP_SHAPE_MISMATCH", "has 4; images are [batch, channels, height, width]"],
    [[3, 1, 2, 2], { group: 3 }, "MP_SHAPE_MISMATCH", "4 channels do not divide into 3 groups"],
    [
      [3, 4, 6, 2],
      {},
      "MP_SHAPE_MISMATCH",
      "a kernel of [6, 2] with dilations [1, 1] does not fit into [5, 5]",
    ],
    [[3, 4, 2], {}, "MP_SHAPE_MISMATCH", "weights of [3, 4, 2] do not go over x of [2, 4, 5, 5]"],
    [[3, 4, 0, 2], {}, "MP_SHAPE_MISMATCH", "weights of [3, 4, 0, 2]"],
    [[3, 4, 2, 2], { pads: [0, -1, 0, 0] }, "MP_INVALID_ARGUMENT", "pads must be 4 integers ≥ 0"],
    [[3, 4, 2, 2], { strides: [1] }, "MP_INVALID_ARGUMENT", "strides must be 2 integers ≥ 1, got [1]"],
    [[3, 4, 2, 2], { strides: 0 }, "MP_INVALID_ARGUMENT", "strides must be 2 integers ≥ 1"],
    [[3, 4, 2, 2], { group: 0 }, "MP_INVALID_ARGUMENT", "group must be an integer ≥ 1, got 0"],
    [[3, 4, 2, 2], { pads: 0, autoPad: "same" }, "MP_INVALID_ARGUMENT", "takes pads or autoPad"],
    [[3, 4, 2, 2], { autoPad: "full" }, "MP_INVALID_ARGUMENT", 'got "full"'],
  ] as const)("conv by %j with %j", (w, options, code, message) => {
    const attempt = (): unknown => convolved(image, w, options as ConvOptions);
    expect(attempt).toThrowError(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    );
  });

  it.each([
    [[3, 2, 2, 2], {}, "MP_SHAPE_MISMATCH", "are for 3 channels, x of [2, 4, 5, 5] has 4"],
    [[4, 2, 1, 1], { pads: 3 }, "MP_SHAPE_MISMATCH", "pads [3, 3, 3, 3] leave nothing"],
    [
      [4, 2, 2, 2],
      { outputPadding: 1 },
      "MP_INVALID_ARGUMENT",
      "output paddings must be below their strides",
    ],
  ] as const)("convTranspose by %j with %j", (w, options, code, message) => {
    const attempt = (): unknown => transposed(image, w, options);
    expect(attempt).toThrowError(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    );
  });

  it("a bias of another length, and data without spatial axes", () => {
    const biased = (): unknown => traced((x, w) => conv(x, w, { bias: w }), image, [3, 4, 2, 2]);
    expect(biased).toThrowError(/the bias has shape \[3, 4, 2, 2\], needs \[3\]/);
    expect(() => convolved([2, 4], [3, 4])).toThrowError(/takes 1 to 3 spatial axes/);
  });
});
