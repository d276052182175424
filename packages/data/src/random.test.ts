import { describe, expect, it } from "vitest";
import { permutation, randomStream } from "./random.js";

const draw = (count: number, next: () => number): number[] => Array.from({ length: count }, next);

describe("randomStream", () => {
  it("is a function of its keys alone", () => {
    const first = randomStream(7, 1);
    const again = randomStream(7, 1);
    expect(draw(100, again.uniform)).toEqual(draw(100, first.uniform));
    expect(draw(4, () => randomStream(7, 1).integer(2 ** 32))).toEqual(
      new Array(4).fill(randomStream(7, 1).integer(2 ** 32)),
    );
  });

  it("does not change between versions: shuffles of old runs stay what they were", () => {
    const stream = randomStream(42);
    expect(draw(4, () => stream.integer(2 ** 32))).toEqual([597298385, 2326550538, 2785899589, 3512822697]);
  });

  it("gives different streams to different keys, longer keys and keys beyond 32 bits", () => {
    const keys = [[0], [1], [0, 0], [0, 1], [1, 0], [2 ** 32], [2 ** 32 + 1], [-1], [2 ** 32 - 1, 0]];
    const streams = keys.map((key) => draw(64, randomStream(...key).uniform));
    const values = new Set(streams.flat());
    expect(values.size).toBe(keys.length * 64);
  });

  it("has uniform moments and buckets", () => {
    const stream = randomStream(3);
    const counts = new Array<number>(10).fill(0);
    for (let i = 0; i < 100_000; i++) {
      const bucket = stream.integer(10);
      counts[bucket] = (counts[bucket] ?? 0) + 1;
    }
    const chiSquare = counts.reduce((sum, count) => sum + (count - 10_000) ** 2 / 10_000, 0);
    expect(chiSquare).toBeLessThan(27.9); // 9 degrees of freedom, p = 0.001
  });

  it("has normal moments", () => {
    const stream = randomStream(4);
    const values = draw(100_000, stream.normal);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    expect(Math.abs(mean)).toBeLessThan(0.015);
    expect(Math.abs(variance - 1)).toBeLessThan(0.02);
    expect(values.every(Number.isFinite)).toBe(true);
  });
});

describe("permutation", () => {
  it("holds every index once and moves most of them", () => {
    const order = permutation(1000, randomStream(1));
    expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, index) => index));
    expect(order.filter((value, index) => value === index).length).toBeLessThan(10);
    expect([...permutation(0, randomStream(1))]).toEqual([]);
  });

  it("draws all orders of three about equally often", () => {
    const stream = randomStream(9);
    const counts = new Map<string, number>();
    for (let i = 0; i < 6000; i++) {
      const key = permutation(3, stream).join("");
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    expect(counts.size).toBe(6);
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(130);
  });
});
