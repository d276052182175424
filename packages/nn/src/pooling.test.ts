// Pools and group normalization, with their gradients, against PyTorch's in double precision.
import { readFileSync } from "node:fs";
import { grad, key, type Tensor, tensor } from "@mp/core";
import { constant, mul, reduceSum } from "@mp/core/ops";
import type { RawTensor } from "@mp/core/reference";
import { describe, expect, it } from "vitest";
import { numbers, run, shapeOf } from "../test/run-layer.js";
import { averagePooling, dense, globalAveragePool, groupNorm, maxPooling, sequential } from "./index.js";

interface Numbers {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}
interface Case extends Readonly<Record<"x" | "y" | "weights" | "dx", Numbers>> {
  readonly layer: "maxPool" | "averagePool" | "groupNorm";
  readonly size: number | readonly number[];
  readonly options: object;
}
const { cases } = JSON.parse(
  readFileSync(new URL("../test/fixtures/pools.json", import.meta.url), "utf8"),
) as { readonly cases: readonly Case[] };

const host = ({ shape, data }: Numbers) => tensor(Float32Array.from(data), shape);

function layerOf({ layer, size, options, x }: Case): (t: Tensor) => Tensor {
  if (layer !== "groupNorm") {
    const pool = layer === "maxPool" ? maxPooling(size, options) : averagePooling(size, options);
    return (t) => pool.apply({}, t);
  }
  const norm = groupNorm(Number(size), x.shape[1] ?? 0, options);
  return (t) => {
    const { scale, bias } = norm.init(key(0));
    return norm.apply({ scale: constant(scale), bias: constant(bias) }, t);
  };
}

describe.each(
  cases.map((entry) => [`${entry.layer} ${JSON.stringify([entry.size, entry.options])}`, entry] as const),
)("%s", (_, entry) => {
  it("is PyTorch's, and its gradient too", () => {
    const apply = layerOf(entry);
    const got = run({ x: host(entry.x), weights: host(entry.weights) }, ({ x, weights }) => ({
      y: apply(x),
      dx: grad((t: Tensor) => reduceSum(mul(apply(t), weights)))(x),
    })) as Readonly<Record<"y" | "dx", RawTensor>>;
    for (const name of ["y", "dx"] as const) {
      expect(got[name].shape).toEqual(entry[name].shape);
      numbers(got[name]).forEach((value, at) => {
        expect(value).toBeCloseTo(entry[name].data[at] ?? Number.NaN, 7);
      });
    }
  });
});

describe("pools", () => {
  const x = tensor(
    Float32Array.from({ length: 60 }, (_, at) => Math.sin(at)),
    [2, 3, 5, 2],
  );

  it("of padding same have as many windows as the input over the stride", () => {
    const shapes = run({ x }, (t) => [
      maxPooling(3, { stride: 2, padding: "same" }).apply({}, t.x),
      maxPooling(2, { stride: 1, padding: "same" }).apply({}, t.x),
      averagePooling([3, 1], { stride: [3, 1], padding: "same" }).apply({}, t.x),
    ]) as readonly RawTensor[];
    expect(shapes.map(({ shape }) => shape)).toEqual([
      [2, 3, 3, 1],
      [2, 3, 5, 2],
      [2, 3, 2, 2],
    ]);
  });

  it("of everything gives what a dense layer takes", () => {
    const model = sequential(maxPooling([2, 1]), globalAveragePool, dense(3, 4));
    const y = run({ x, params: model.init(key(1)) }, (t) => model.apply(t.params, t.x));
    expect(shapeOf(y)).toEqual([2, 4]);
    const mean = run({ x }, (t) => globalAveragePool(t.x));
    const plane = Array.from(x.data.slice(10, 20)).reduce((sum, value) => sum + value, 0) / 10;
    expect(numbers(mean)[1]).toBeCloseTo(plane, 6);
  });

  it("and group normalization say what they take", () => {
    expect(() => maxPooling(0)).toThrow(/the window's size must be an integer ≥ 1/);
    expect(() => maxPooling(2, { padding: "full" } as never)).toThrow(
      /padding must be "same", "valid" or numbers/,
    );
    expect(() => averagePooling(2, { strides: 2 } as never)).toThrow(/stride/);
    expect(() => groupNorm(3, 4)).toThrow(/3 groups do not divide 4 channels/);
    expect(() => run({ x }, (t) => globalAveragePool(reduceSum(t.x)))).toThrow(/x must be \[N, C, d…\]/);
  });
});
