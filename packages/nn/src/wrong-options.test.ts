/** Wrong arguments of layers in JavaScript programs are refused by name when the layer is made. */
import { tensor } from "@mp/core";
import { constant } from "@mp/core/ops";
import { describe, expect, it } from "vitest";
import { run } from "../test/run-layer.js";
import {
  averagePooling,
  batchNorm,
  convolution,
  dense,
  embedding,
  groupNorm,
  gru,
  layerNorm,
  lstm,
  maxPooling,
  rmsNorm,
  softmaxCrossEntropy,
  transposedConvolution,
} from "./index.js";

type Make = (options: never) => unknown;

const WINDOW = { stride: 2, padding: 1, dilation: 1 };
const makers: Readonly<Record<string, readonly [make: Make, options: Readonly<Record<string, unknown>>]>> = {
  conv: [(o) => convolution(2, 4, 3, o), { ...WINDOW, groups: 2, kernel: () => 0, bias: () => 0 }],
  convTranspose: [(o) => transposedConvolution(2, 4, 3, o), { ...WINDOW, groups: 2, outputPadding: 1 }],
  maxPool: [(o) => maxPooling(2, o), { ...WINDOW, ceilMode: true }],
  averagePool: [(o) => averagePooling([2, 2], o), { ...WINDOW, ceilMode: true, countIncludePad: true }],
  "size of a conv": [({ size }: { size: number }) => convolution(2, 4, size), { size: 3 }],
  "size of a pool": [({ size }: { size: number }) => maxPooling(size), { size: [2, 2] }],
  batchNorm: [(o) => batchNorm(3, o), { momentum: 0.9, epsilon: 1e-3, axis: 1 }],
  groupNorm: [(o) => groupNorm(2, 4, o), { epsilon: 1e-3 }],
  layerNorm: [(o) => layerNorm(4, o), { epsilon: 1e-3 }],
  rmsNorm: [(o) => rmsNorm(4, o), { epsilon: 1e-3 }],
  dense: [(o) => dense(2, 3, o), { kernel: () => 0, bias: () => 0 }],
  embedding: [(o) => embedding(2, 3, o), { table: () => 0 }],
  gru: [(o) => gru(2, 3, o), { kernel: () => 0, recurrent: () => 0 }],
  lstm: [(o) => lstm(2, 3, o), { kernel: () => 0 }],
};

const wrong: readonly unknown[] = [null, "two", {}, [null], ["2"], Number.NaN, Symbol("s"), [1, 2, 3, 4, 5]];

const overwritten = Object.entries(makers).flatMap(([name, [make, options]]) =>
  Object.keys(options).map((option) => ({ name, make, options, option })),
);

it.each(overwritten)("$name, $option", ({ make, options, option }) => {
  expect(() => make(options as never)).not.toThrow();
  // A pool may be over any number of axes.
  for (const value of option === "size" && options["size"] !== 3 ? wrong.slice(0, -1) : wrong) {
    expect(() => make({ ...options, [option]: value } as never)).toThrow(
      expect.objectContaining({ name: "MpError", message: expect.stringContaining(option) }),
    );
  }
});

it("padding of one number for each axis, or for each side", () => {
  for (const padding of [1, [0, 1], [0, 1, 1, 0], "same", "valid"]) {
    expect(() => convolution(2, 4, 3, { padding } as never)).not.toThrow();
    expect(() => maxPooling(3, { padding } as never)).not.toThrow();
  }
  expect(() => convolution(2, 4, 3, { padding: [1, 1, 1] })).toThrow(
    "convolution: padding must be an integer ≥ 0, or a list of 2 or 4, got [1, 1, 1]",
  );
});

describe("a reduction that there is not", () => {
  it.each([0, 0.1])("is refused with labelSmoothing %s", (labelSmoothing) => {
    const logits = tensor(new Float32Array(6), [2, 3]);
    for (const reduction of ["average", null, 2]) {
      const attempt = (): unknown =>
        run({ logits }, (t) => {
          const labels = constant(tensor(Int32Array.of(0, 1)));
          return softmaxCrossEntropy(t.logits, labels, { labelSmoothing, reduction } as never);
        });
      expect(attempt).toThrow(/reduction must be mean, sum or none, got/);
    }
  });
});
