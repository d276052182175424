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

it("nothing is known of what may overflow", () => {
  expect(range("Mul", "f32", upTo(2 ** 60), upTo(2 ** 60))).toBeUndefined();
});
