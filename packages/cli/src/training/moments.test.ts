import { expect, it } from "vitest";
import { differences, moments, signedSpread, spread } from "./moments.js";

it("has the deviation of a sample, and none of a single value", () => {
  expect(moments([1, 2, 3, 4])).toEqual({ mean: 2.5, deviation: Math.sqrt(5 / 3) });
  expect(moments([7])).toEqual({ mean: 7, deviation: 0 });
});

it("tells values and their differences with their deviations", () => {
  const show = (value: number): string => value.toFixed(1);
  expect(spread([1, 3], show)).toBe("2.0 ± 1.4");
  expect(signedSpread(differences([1, 3], [1, 2]), show)).toBe("+0.5 ± 0.7");
  expect(signedSpread(differences([1, 3], [4, 4]), show)).toBe("-2.0 ± 1.4");
});
