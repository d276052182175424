/** Models exported for inference, run by plain onnxruntime-node and compared with the oracle on the traced function. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HostTensor, key, ops, type Shape, type Tensor, type Tree, tensor, zeros } from "@mp/core";
import { decodeArray, encodeArray, traceInto } from "@mp/core/graph";
import { evaluate } from "@mp/core/reference";
import { encodeModel, exportOnnx } from "@mp/onnx";
import * as engine from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { hasPython, runPython } from "./python.js";

type Weights = Readonly<Record<string, HostTensor<"f32">>>;
type Traced = Readonly<Record<string, Tensor>>;
type Context = { readonly training: boolean; readonly modelState: unknown };

interface Case {
  readonly params: Weights;
  readonly state?: Weights;
  /** Shape of the input x by its dynamic sizes. */
  readonly shape: (batch: number, time: number) => Shape;
  readonly axes: Readonly<Record<number, string>>;
  /** Not exported in f16 for a CPU. */
  readonly isLoop?: boolean;
  readonly run: (params: Traced, x: Tensor, context: Context) => Tensor;
}

const numbers = (seed: number, shape: Shape): HostTensor<"f32"> => {
  const length = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Float32Array.from({ length }, (_, at) => 0.4 * Math.sin(37 * seed + 12.9898 * (at + 1))),
    shape,
  );
};
const at = (tree: Traced, name: string): Tensor => tree[name] as Tensor;

const cases: Readonly<Record<string, Case>> = {
  "layers with running statistics and a dropout": {
    params: { scale: numbers(1, [4]), bias: numbers(2, [4]), kernel: numbers(3, [4, 3]) },
    state: { mean: numbers(4, [4]), variance: tensor(Float32Array.of(1, 0.5, 2, 0.25)) },
    shape: (batch) => [batch, 4],
    axes: { 0: "batch" },
    run: (params, x, { training, modelState }) => {
      const statistics = modelState as { mean: Tensor; variance: Tensor };
      const y = ops.normalizeByStatistics(x, at(params, "scale"), at(params, "bias"), statistics);
      const kept = training ? ops.where(ops.randomBernoulli(key(1), 0.5, y.shape), y, 0) : y;
      return ops.softmax(ops.matMul(ops.relu(kept), at(params, "kernel")));
    },
  },
  "heads of attention over batch and time": {
    params: { qkv: numbers(1, [6, 18]), out: numbers(2, [6, 6]), scale: numbers(3, [6]) },
    shape: (batch, time) => [batch, time, 6],
    axes: { 0: "batch", 1: "time" },
    run: (params, x) => {
      const [batch = 0, time = 0] = x.shape;
      const rows = ops.matMul(ops.reshape(x, [batch * time, 6]), at(params, "qkv"));
      const heads = ops
        .split(rows, 3, 1)
        .map((each) => ops.transpose(ops.reshape(each, [batch, time, 2, 3]), [0, 2, 1, 3]));
      const [query, keys, values] = heads as [Tensor, Tensor, Tensor];
      const weights = ops.softmax(ops.matMul(query, ops.transpose(keys, [0, 1, 3, 2])));
      const mixed = ops.transpose(ops.matMul(weights, values), [0, 2, 1, 3]);
      const y = ops.matMul(ops.reshape(mixed, [batch, time, 6]), at(params, "out"));
      return ops.layerNormalization(ops.add(x, y), at(params, "scale"));
    },
  },
  "operators that are new since opset 18, and a table that counts": {
    params: { scale: numbers(1, [4]) },
    shape: (batch, time) => [batch, time, 4],
    axes: { 0: "batch", 1: "time" },
    run: (params, x) => {
      const [batch = 0, time = 0] = x.shape;
      const places = Int32Array.from(
        { length: batch * time },
        (_, index) => Math.floor(index / time) - 2 * (index % time),
      );
      const table = ops.mul(ops.cast(ops.constant(tensor(places, [batch, time, 1])), "f32"), 0.01);
      const heads = ops.reshape(ops.gelu(ops.add(x, table)), [batch, 1, time, 4]);
      const mixed = ops.attention(heads, heads, heads, { isCausal: true });
      return ops.rmsNormalization(ops.gelu(mixed, { approximate: "tanh" }), at(params, "scale"));
    },
  },
  "a loop from zeros of the batch's size": {
    params: { kernel: numbers(1, [5, 3]) },
    shape: (batch, time) => [time, batch, 2],
    axes: { 0: "time", 1: "batch" },
    isLoop: true,
    run: (params, x) => {
      const start = ops.constant(zeros([x.shape[1] as number, 3]));
      const [last] = ops.scan(
        (state: Tensor, step: Tensor) => {
          const next = ops.tanh(ops.matMul(ops.concat([step, state], 1), at(params, "kernel")));
          return [next, next];
        },
        start,
        x,
      );
      return last;
    },
  },
};

async function onEngine(bytes: Uint8Array, x: HostTensor): Promise<HostTensor> {
  const session = await engine.InferenceSession.create(bytes);
  try {
    expect([session.inputNames, session.outputNames]).toEqual([["x"], ["output"]]);
    const { output } = await session.run({
      x: new engine.Tensor("float32", x.data as Float32Array, x.shape),
    });
    expect(output?.type).toBe("float32");
    return tensor(output?.data as Float32Array, [...(output?.dims ?? [])]);
  } finally {
    await session.release();
  }
}

function onOracle({ run, state = {} }: Case, params: Weights, x: HostTensor): HostTensor {
  const entries = Object.entries({ ...params, ...state, x });
  const inputs = entries.map(([name, type]) => ({ name, role: "batch" as const, type }));
  const { graph } = traceInto(inputs, (tensors) => {
    const values = Object.fromEntries(entries.map(([name], index) => [name, tensors[index] as Tensor]));
    return run(values, at(values, "x"), { training: false, modelState: values });
  });
  const [result] = Object.values(evaluate(graph, Object.fromEntries(entries)));
  return result as HostTensor;
}

function exported(one: Case, dtype: "f32" | "f16" | "bf16", opset = 23): Uint8Array {
  const layer = {
    initState: () => one.state ?? {},
    apply: (params: Traced, x: Tensor, context: Context) => [one.run(params, x, context), {}],
  };
  const inputs = { x: { shape: one.shape(1, 1) } };
  const weights: { readonly params: Tree<HostTensor>; readonly state: Tree<HostTensor> } = {
    params: one.params,
    state: one.state ?? {},
  };
  return encodeModel(exportOnnx(layer, weights, { inputs, dynamicAxes: { x: one.axes }, dtype, opset }));
}

/** As they are after being stored. */
const rounded = (params: Weights, dtype: "f32" | "f16" | "bf16"): Weights =>
  Object.fromEntries(
    Object.entries(params).map(([name, { data, shape }]) => [
      name,
      tensor(decodeArray(dtype, encodeArray(dtype, data)), shape),
    ]),
  );

const OPSETS = [18, 19, 20, 21, 22] as const;

describe.each(Object.entries(cases))("%s", (name, one) => {
  // The CPU computes in f16, or in f32 where it has no kernel; bf16 is stored alone.
  const tolerances = [
    ["f32", 1e-5],
    ["f16", 1e-2],
    ["bf16", 1e-5],
  ] as const;
  it.each(tolerances.filter(([dtype]) => dtype !== "f16" || !one.isLoop))(
    "gives the oracle's numbers in %s, at every size",
    async (dtype, tolerance) => {
      const bytes = exported(one, dtype);
      for (const [batch, time] of [
        [1, 1],
        [4, 3],
        [7, 11],
      ] as const) {
        const x = numbers(9, one.shape(batch, time));
        const wanted = onOracle(one, rounded(one.params, dtype), x);
        const found = await onEngine(bytes, x);
        expect(found.shape).toEqual(wanted.shape);
        wanted.data.forEach((want, index) => {
          const difference = Math.abs(Number(found.data[index]) - Number(want));
          expect(difference, `${batch}, ${time} [${index}]`).toBeLessThan(tolerance);
        });
      }
    },
  );

  it.each(OPSETS)("gives the oracle's numbers from a file of opset %d", async (opset) => {
    const x = numbers(9, one.shape(3, 2));
    const found = await onEngine(exported(one, "f32", opset), x);
    onOracle(one, one.params, x).data.forEach((want, index) => {
      expect(Math.abs(Number(found.data[index]) - Number(want))).toBeLessThan(1e-5);
    });
  });

  if (hasPython)
    it("passes onnx.checker", () => {
      const folder = mkdtempSync(join(tmpdir(), "mp-checker-"));
      try {
        const dtypes = ["f32", ...(one.isLoop ? [] : ["f16" as const]), "bf16"] as const;
        const files = dtypes.flatMap((dtype) =>
          [...OPSETS, 23].map((opset) => {
            writeFileSync(join(folder, `${dtype}-${opset}.onnx`), exported(one, dtype, opset));
            return `${dtype}-${opset}.onnx`;
          }),
        );
        const check =
          "import onnx, sys\nfor f in sys.argv[1:]: onnx.checker.check_model(f, full_check=True); print(f)";
        expect(
          runPython(check, folder, ...files)
            .trim()
            .split("\n"),
          name,
        ).toEqual(files);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
});
