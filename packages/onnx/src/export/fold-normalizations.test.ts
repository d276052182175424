import { ops } from "@mp/core";
import { decodeArray, type HostTensor, type Tensor, tensor } from "@mp/graph";
import { expect, it } from "vitest";
import type { OnnxModel } from "../model.js";
import { exportOnnx } from "./export-onnx.js";

const kernel = tensor(Float32Array.of(1, 2, 0.003, -0.004), [2, 2, 1, 1]);
const inputs = { x: { shape: [1, 2, 3, 3] } } as const;
const column = (a: number, b: number) => tensor(Float32Array.of(a, b), [2, 1, 1]);

const operators = ({ graph }: OnnxModel): readonly string[] => graph.nodes.map(({ opType }) => opType);
const scaled = (scale: HostTensor<"f32">, dtype: "f32" | "f16" | "bf16"): OnnxModel =>
  exportOnnx(
    (params, { x }) => ops.mul(ops.conv(x, params.kernel), params.scale),
    { params: { kernel, scale } },
    { inputs, dtype, foldBatchNorm: true },
  );

it("leaves factors that a half cannot hold once they are in the weights", () => {
  for (const [a, b] of [
    [60_000, 1],
    [1, 1e-5],
  ] as const) {
    const model = scaled(column(a, b), "f16");
    expect(operators(model)).toContain("Mul");
    for (const { tensor: each } of model.graph.initializers)
      expect([...decodeArray("f16", each.data as Uint16Array)].every(Number.isFinite)).toBe(true);
    expect(operators(scaled(column(a, b), "f32"))).toEqual(["Conv"]);
  }
  expect(operators(scaled(column(3, 0.01), "f16"))).not.toContain("Mul");
  expect(operators(scaled(column(3e38, 1), "f32"))).toContain("Mul");
});

it("gives weights that two convolutions share names of their own, and takes none that exists", () => {
  const normalized = (y: Tensor, by: Tensor) => ops.mul(y, by);
  const model = exportOnnx(
    (params, { x }) =>
      ops.add(
        ops.add(
          normalized(ops.conv(x, params.kernel), params.first),
          normalized(ops.conv(ops.relu(x), params.kernel), params.second),
        ),
        params.kernel_folded,
      ),
    { params: { kernel, first: column(2, 3), second: column(5, 7), kernel_folded: column(1, 1) } },
    { inputs, foldBatchNorm: true },
  );
  expect(operators(model).filter((op) => op === "Mul")).toEqual([]);
  const names = model.graph.initializers.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toEqual(expect.arrayContaining(["kernel_folded", "kernel_folded~1", "kernel_folded~2"]));
});
