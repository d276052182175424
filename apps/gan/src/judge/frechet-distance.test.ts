import { randomStream } from "@mp/data";
import { expect, it } from "vitest";
import { frechetDistance } from "./frechet-distance.js";
import { eigen, product, root } from "./symmetric.js";

const drawn = (count: number, [mean, deviation]: readonly [number, number], seed: number): Float64Array[] => {
  const stream = randomStream(seed);
  return Array.from({ length: count }, () =>
    Float64Array.from({ length: 3 }, () => mean + deviation * stream.normal()),
  );
};

it("is 0 for equal sets, and as of two normal distributions otherwise", () => {
  const one = drawn(20_000, [0, 1], 1);
  expect(frechetDistance(one, one)).toBeCloseTo(0, 8);
  // Three numbers each: 3 · (2² + (1 - 3)²).
  expect(frechetDistance(one, drawn(20_000, [2, 3], 2)) / 24).toBeCloseTo(1, 1);
});

it("eigenvalues and roots of a symmetric matrix", () => {
  const matrix = [
    [4, 1, 0.5],
    [1, 3, -1],
    [0.5, -1, 2],
  ].map((row) => Float64Array.from(row));
  const { values, vectors } = eigen(matrix);
  for (const [at, vector] of vectors.entries()) {
    const image = matrix.map((row) => row.reduce((sum, value, k) => sum + value * (vector[k] as number), 0));
    for (const [k, value] of image.entries())
      expect(value).toBeCloseTo((values[at] as number) * (vector[k] as number), 10);
  }
  const half = root(matrix);
  for (const [i, row] of product(half, half).entries())
    for (const [j, value] of row.entries()) expect(value).toBeCloseTo(matrix[i]?.[j] as number, 10);
});
