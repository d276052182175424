import { describe, expect, it } from "vitest";
import { tensor } from "../host/host-tensor.js";
import { mul } from "../trace/ops/binary.js";
import { matMul } from "../trace/ops/matrix.js";
import { reduceSum } from "../trace/ops/reduce.js";
import { sigmoid } from "../trace/ops/unary.js";
import type { Tensor } from "../trace/tensor.js";
import { traceInto } from "../trace/trace.js";
import { evaluate, evaluateRaw } from "./evaluate.js";

const f32 = (...shape: number[]) => ({ dtype: "f32" as const, shape });

const { graph } = traceInto(
  [
    { name: "x", role: "batch", type: f32(2, 3) },
    { name: "w", role: "parameter", type: f32(3, 2) },
  ],
  ([x, w]) => reduceSum(mul(sigmoid(matMul(x as Tensor, w as Tensor)), 0.1)),
);

const x = tensor(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]);
const w = [0.1, -0.2, 0.3, 0.4, -0.5, 0.6];
const logits = [
  [1 * 0.1 + 2 * 0.3 + 3 * -0.5, 1 * -0.2 + 2 * 0.4 + 3 * 0.6],
  [4 * 0.1 + 5 * 0.3 + 6 * -0.5, 4 * -0.2 + 5 * 0.4 + 6 * 0.6],
];
const expected = logits.flat().reduce((sum, z) => sum + 0.1 / (1 + Math.exp(-z)), 0);

describe("evaluate", () => {
  it("gives f32 results in exact arithmetic", () => {
    const { result } = evaluate(graph, { x, w: tensor(Float32Array.from(w), [3, 2]) });
    expect(result?.dtype).toBe("f32");
    expect(result?.shape).toEqual([]);
    expect(result?.data[0]).toBeCloseTo(expected, 6);
    expect(result?.data[0]).toBe(Math.fround(Number(result?.data[0])));
  });

  it("rounds nothing in f64 arithmetic, neither inputs nor literals", () => {
    const raw = { dtype: "f32", shape: [3, 2], data: Float64Array.from(w) } as const;
    const { result } = evaluateRaw(graph, { x, w: raw }, { arithmetic: "f64" });
    expect(Math.abs(Number(result?.data[0]) - expected)).toBeLessThan(1e-15);
  });

  it.each([
    ["MP_INVALID_ARGUMENT", { x }, 'input "w" is missing'],
    ["MP_INVALID_ARGUMENT", { x, w: x, z: x }, 'no input "z"'],
    ["MP_SHAPE_MISMATCH", { x, w: x }, 'input "w" is f32[2, 3], the graph takes f32[3, 2]'],
    ["MP_DTYPE_MISMATCH", { x, w: tensor(new Int32Array(6), [3, 2]) }, 'input "w" is i32'],
  ])("refuses with %s", (code, inputs, message) => {
    expect(() => evaluate(graph, inputs)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    );
  });
});
