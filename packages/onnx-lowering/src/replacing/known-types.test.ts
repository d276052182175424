import { expect, it } from "vitest";
import { commonShape } from "./known-types.js";

it("the common shape is that of all, beside scalars", () => {
  expect(commonShape([])).toEqual([]);
  expect(commonShape([[], [2, 3], [], [2, 3]])).toEqual([2, 3]);
});

it("no shape is common where one is unknown, or where they differ", () => {
  expect(commonShape([[2], undefined])).toBeUndefined();
  expect(commonShape([[2], [1]])).toBeUndefined();
  expect(commonShape([[2], [1], [2]])).toBeUndefined();
});
