import { type HostTensor, tensor } from "@mp/graph";
import { expect, it } from "vitest";
import { commonShape, type Emission, type Range, resultTypes } from "./known-types.js";

it("the common shape is that of all, beside scalars", () => {
  expect(commonShape([])).toEqual([]);
  expect(commonShape([[], [2, 3], [], [2, 3]])).toEqual([2, 3]);
});

it("no shape is common where one is unknown, or where they differ", () => {
  expect(commonShape([[2], undefined])).toBeUndefined();
  expect(commonShape([[2], [1]])).toBeUndefined();
  expect(commonShape([[2], [1], [2]])).toBeUndefined();
});

const range = (op: string, dtype: "f32" | "u8", ...ranges: readonly (Range | undefined)[]) => {
  const emission: Emission = {
    inputs: ranges.map((_, index) => `x${index}`),
    attributes: {},
    options: {},
    dtypes: ranges.map(() => dtype),
    shapes: ranges.map(() => [2]),
    ranges,
  };
  return resultTypes(op, emission)[0]?.range;
};
const upTo = (most: number, isNumber = true): Range => ({ most, isNumber });

it("a result is bounded where its operands are, and a number where they are", () => {
  expect(range("Add", "f32", upTo(3), upTo(4))).toEqual(upTo(7));
  expect(range("Mul", "f32", upTo(3), upTo(4, false))).toEqual(upTo(12, false));
  expect(range("Max", "f32", upTo(3), undefined)).toBeUndefined();
  expect(range("Exp", "f32", upTo(3))).toBeUndefined();
});

it("a clipped value is bounded by both limits, and may be NaN where it may have been", () => {
  expect(range("Clip", "f32", undefined, upTo(7), upTo(0.5))).toEqual(upTo(7, false));
  expect(range("Clip", "f32", undefined, upTo(7))).toBeUndefined();
});

it("a constant of one number is known in f32 alone: data of a half are bits", () => {
  const constant = (value: HostTensor): Range | undefined => {
    const attributes = { value: { kind: "tensor", value } } as const;
    const emission = { inputs: [], attributes, options: {}, dtypes: [], shapes: [], ranges: [] };
    return resultTypes("Constant", emission)[0]?.range;
  };
  expect(constant(tensor(Float32Array.of(-3), []))).toEqual(upTo(3));
  expect(constant(tensor(Float32Array.of(Number.NaN), []))).toBeUndefined();
  expect(constant(tensor(Uint16Array.of(0x7e00), [], "f16"))).toBeUndefined();
});

it("nothing is known of what may overflow", () => {
  expect(range("Mul", "f32", upTo(2 ** 60), upTo(2 ** 60))).toBeUndefined();
});
