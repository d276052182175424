/** Measures the cost of a run besides its work: `npx vitest bench` in this package. */
import { type ValueType, zeros } from "@mp/graph";
import { afterAll, bench, describe } from "vitest";
import { openRuntime } from "../src/native/index.js";
import type { NativeTensor } from "../src/native/tensor.js";
import { type ModelNode, modelBytes } from "./onnx-bytes.js";

const runtime = await openRuntime({ threads: 2 });
afterAll(() => runtime.dispose());

describe("20 nodes on [16, 16]", async () => {
  const square: ValueType = { dtype: "f32", shape: [16, 16] };
  const nodes: ModelNode[] = Array.from({ length: 20 }, (_, index) => ({
    op: index % 4 === 0 ? "MatMul" : "Tanh",
    inputs: [index === 0 ? "x" : `v${index - 1}`, ...(index % 4 === 0 ? ["w"] : [])],
    outputs: [index === 19 ? "y" : `v${index}`],
  }));
  const session = await runtime.createSession(
    modelBytes({ nodes, inputs: { x: square, w: square }, outputs: { y: square } }),
  );
  const binding = runtime.bind(session);
  for (const name of ["x", "w"]) binding.bindInput(name, runtime.upload(zeros([16, 16])));
  binding.bindOutput("y", runtime.allocate(square));

  bench("on this thread", () => binding.runSync());
  bench("on a worker thread", () => binding.runAsync());
});

describe("50 state tensors in ping-pong buffers", async () => {
  const type: ValueType = { dtype: "f32", shape: [64] };
  const slots = Array.from({ length: 50 }, (_, index) => index);
  const named = (prefix: string) =>
    Object.fromEntries(slots.map((slot): [string, ValueType] => [`${prefix}${slot}`, type]));
  const session = await runtime.createSession(
    modelBytes({
      nodes: slots.map((slot) => ({ op: "Neg", inputs: [`p${slot}`], outputs: [`q${slot}`] })),
      inputs: named("p"),
      outputs: named("q"),
    }),
  );
  const side = (): readonly NativeTensor[] => slots.map(() => runtime.upload(zeros([64])));
  const sides = [side(), side()] as const;
  const bind = (binding: ReturnType<typeof runtime.bind>, from: 0 | 1) => {
    sides[from].forEach((tensor, slot) => {
      binding.bindInput(`p${slot}`, tensor);
    });
    sides[from === 0 ? 1 : 0].forEach((tensor, slot) => {
      binding.bindOutput(`q${slot}`, tensor);
    });
    return binding;
  };
  const prepared = [bind(runtime.bind(session), 0), bind(runtime.bind(session), 1)] as const;
  const single = runtime.bind(session);
  let step = 0;

  bench("prepared bindings", () => prepared[(step++ & 1) as 0 | 1].runSync());
  bench("one binding, bound again", () => bind(single, (step++ & 1) as 0 | 1).runSync());
});
