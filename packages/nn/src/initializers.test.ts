import { foldIn, key } from "@mp/core";
import { describe, expect, it } from "vitest";
import {
  constantValue,
  glorotNormal,
  glorotUniform,
  heNormal,
  heUniform,
  normal,
  orthogonal,
  truncatedNormal,
  uniform,
} from "./index.js";

const SIZE = 40_000;
const moments = (data: Float32Array): { mean: number; deviation: number; least: number; most: number } => {
  const mean = data.reduce((sum, x) => sum + x, 0) / data.length;
  const variance = data.reduce((sum, x) => sum + (x - mean) ** 2, 0) / data.length;
  return {
    mean,
    deviation: Math.sqrt(variance),
    least: data.reduce((a, b) => Math.min(a, b)),
    most: data.reduce((a, b) => Math.max(a, b)),
  };
};

describe("initializers", () => {
  it("draw uniformly within their limit", () => {
    const { mean, deviation, least, most } = moments(uniform(0.2)(key(1), [SIZE], 1, 1).data);
    expect(Math.abs(mean)).toBeLessThan(0.003);
    expect(deviation).toBeCloseTo(0.2 / Math.sqrt(3), 2);
    expect(least).toBeGreaterThanOrEqual(-0.2);
    expect(least).toBeLessThan(-0.199);
    expect(most).toBeLessThan(0.2);
    expect(most).toBeGreaterThan(0.199);
  });

  it("draw normally, tails included and finite", () => {
    const { data } = normal(2)(key(1), [SIZE], 1, 1);
    const { mean, deviation } = moments(data);
    expect(Math.abs(mean)).toBeLessThan(0.05);
    expect(Math.abs(deviation / 2 - 1)).toBeLessThan(0.02);
    const within = (sigmas: number): number => data.filter((x) => Math.abs(x) < 2 * sigmas).length / SIZE;
    expect(within(1)).toBeCloseTo(0.6827, 2);
    expect(within(2)).toBeCloseTo(0.9545, 2);
    expect(within(3)).toBeCloseTo(0.9973, 2);
    expect(data.every(Number.isFinite)).toBe(true);
  });

  it("scale by fan in and fan out as their papers say", () => {
    const glorot = moments(glorotUniform(key(2), [SIZE], 30, 70).data);
    expect(glorot.most).toBeLessThanOrEqual(Math.sqrt(6 / 100));
    expect(glorot.most).toBeGreaterThan(0.99 * Math.sqrt(6 / 100));
    expect(moments(heNormal(key(2), [SIZE], 50, 1).data).deviation).toBeCloseTo(Math.sqrt(2 / 50), 2);
  });

  it("have the variance of their papers, uniform or normal", () => {
    const deviation = (draw: typeof heNormal): number => moments(draw(key(2), [SIZE], 30, 70).data).deviation;
    for (const draw of [glorotNormal, glorotUniform])
      expect(deviation(draw)).toBeCloseTo(Math.sqrt(2 / 100), 2);
    for (const draw of [heNormal, heUniform]) expect(deviation(draw)).toBeCloseTo(Math.sqrt(2 / 30), 2);
    expect(moments(heUniform(key(2), [SIZE], 30, 70).data).most).toBeLessThanOrEqual(Math.sqrt(6 / 30));
  });

  it("cut a normal off at two deviations and fill every place", () => {
    const { data } = truncatedNormal(0.5)(key(4), [200, 200], 1, 1);
    const { mean, deviation, least, most } = moments(data);
    expect([Math.abs(mean) < 0.01, least >= -1, most <= 1, least < -0.99, most > 0.99]).toEqual(
      new Array(5).fill(true),
    );
    expect(deviation / 0.5).toBeCloseTo(0.8796, 2);
    expect(data.every((value) => value !== 0)).toBe(true);
  });

  it.each([[[8, 8]], [[3, 20]], [[20, 3]], [[4, 2, 3, 3]]])("are orthogonal in shape %j", (shape) => {
    const [rows = 0] = shape;
    const columns = shape.reduce((a, b) => a * b, 1) / rows;
    const { data } = orthogonal(2)(key(5), shape, 1, 1);
    const at = (row: number, column: number): number => data[row * columns + column] as number;
    const count = Math.min(rows, columns);
    for (let i = 0; i < count; i++) {
      for (let j = 0; j <= i; j++) {
        let product = 0;
        for (let k = 0; k < Math.max(rows, columns); k++) {
          product += rows <= columns ? at(i, k) * at(j, k) : at(k, i) * at(k, j);
        }
        expect(Math.abs(product - (i === j ? 4 : 0))).toBeLessThan(1e-5);
      }
    }
    expect(() => orthogonal()(key(5), [8], 1, 1)).toThrow("takes two axes or more, got [8]");
  });

  it("give the same numbers for the same key, others for another, in any shape", () => {
    expect(uniform(1)(key(3), [4, 5], 1, 1)).toEqual(uniform(1)(key(3), [4, 5], 1, 1));
    expect(uniform(1)(key(3), [4, 5], 1, 1).data).toEqual(uniform(1)(key(3), [20], 1, 1).data);
    expect(uniform(1)(key(3), [20], 1, 1).data).not.toEqual(uniform(1)(foldIn(key(3), "a"), [20], 1, 1).data);
    expect(normal(1)(key(3), [], 1, 1).shape).toEqual([]);
    expect(constantValue(3)(key(3), [2, 2], 1, 1).data).toEqual(Float32Array.of(3, 3, 3, 3));
  });
});
