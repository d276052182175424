// Tests the finite check of gradients and updates: which form each shape takes, and that every form finds NaN.

import { encodeArray, type HostTensor, type Tensor, tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { currentBuilder } from "../../../../../graph/src/trace/trace.js";
import { runTraced, traceTrees } from "../../../../../graph/test/run-traced.js";
import { poisonOfUpdate } from "./poison-of-update.js";

const SHAPES: readonly (readonly [shape: readonly number[], form: "MatMul" | "Mul"])[] = [
  [[], "Mul"],
  [[1], "Mul"],
  [[70_000], "Mul"],
  [[1, 300], "Mul"],
  [[300, 1], "Mul"],
  [[300, 1, 1], "Mul"],
  [[2, 2], "MatMul"],
  [[65, 3], "MatMul"],
  [[300, 200], "MatMul"],
  [[3, 5, 4], "MatMul"],
  [[2, 3, 1, 129], "MatMul"],
];
const sizeOf = (shape: readonly number[]): number => shape.reduce((product, n) => product * n, 1);

describe("the check of a large value", () => {
  it.each(SHAPES)("of shape %j is a %s", (shape, form) => {
    const ops: string[] = [];
    runTraced({ x: tensor(new Float32Array(sizeOf(shape)), shape) }, ({ x }) => {
      const result = poisonOfUpdate({ x: x as Tensor });
      ops.push(...currentBuilder("test").nodes.map(({ op }) => op));
      return result;
    });
    expect(ops).toContain(form);
    expect(ops.includes("MatMul")).toBe(form === "MatMul");
  });

  it.each(SHAPES)("of shape %j sees what is not finite in its first, middle and last element", (shape) => {
    const size = sizeOf(shape);
    const of = (data: Float32Array): HostTensor<"f32"> => tensor(data, shape);
    const check = traceTrees({ x: of(new Float32Array(size)) }, (inputs) =>
      poisonOfUpdate(inputs as { readonly x: Tensor }),
    );
    const poisonOf = (data: Float32Array): number =>
      (check({ x: of(data) }) as HostTensor<"f32">).data[0] ?? 7;
    expect(poisonOf(new Float32Array(size).fill(3e38))).toBe(0);
    for (const place of new Set([0, size >> 1, size - 1])) {
      for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
        const data = new Float32Array(size).fill(-3e38);
        data[place] = wrong;
        expect(poisonOf(data), `${wrong} at ${place}`).toBeNaN();
      }
    }
  });

  it.each(["f16", "bf16", "f8e4m3", "f8e5m2"] as const)("reads %s", (dtype) => {
    for (const shape of [[6], [2, 3]]) {
      for (const [wrong, finite] of [
        [Number.NaN, false],
        [Number.POSITIVE_INFINITY, false],
        [1, true],
      ] as const) {
        const data = encodeArray(dtype, Float32Array.of(1, 2, 3, 4, wrong, 6));
        const [got] = runTraced({ x: tensor(data, shape, dtype) }, ({ x }) =>
          poisonOfUpdate({ x: x as Tensor }),
        ).data;
        expect(got, `${wrong} in ${shape}`).toEqual(finite ? 0 : Number.NaN);
      }
    }
  });

  it("reads no integers, and nothing is finite", () => {
    expect(
      runTraced({ x: tensor(Int32Array.of(1)) }, ({ x }) => poisonOfUpdate({ x: x as Tensor })).data[0],
    ).toBe(0);
    expect(runTraced({}, () => poisonOfUpdate({})).data[0]).toBe(0);
  });
});
