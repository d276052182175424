/** The native layer on a device of WebGPU: memory, copies, recorded runs. */
import { type HostTensor, tensor } from "@mp/graph";
import { encodeModel, onnxGraph, onnxModel, onnxNode } from "@mp/onnx";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type NativeRuntime,
  ON_DEVICE_ONLY,
  openRuntime,
  placement,
  profileRun,
  RECORD_PLACEMENT,
} from "../../src/native/index.js";

let runtime: NativeRuntime;
beforeEach(async () => {
  runtime = await openRuntime({ device: "webgpu" });
});
afterEach(() => runtime.dispose());

const f32 = (...numbers: readonly number[]): HostTensor => tensor(Float32Array.from(numbers));

/** y = x · x + last, on the shape [2]. */
const MODEL = encodeModel(
  onnxModel(
    onnxGraph("g", {
      nodes: [onnxNode("Mul", ["x", "x"], ["square"]), onnxNode("Add", ["square", "last"], ["y"])],
      inputs: ["x", "last"].map((name) => ({ name, type: { elementType: "f32", shape: [2] }, metadata: {} })),
      outputs: [{ name: "y", type: { elementType: "f32", shape: [2] }, metadata: {} }],
    }),
    { opsets: { "": 21 } },
  ),
);

describe("memory", () => {
  it("takes tensors there and back, bool, i64 and empty ones too", async () => {
    const values: readonly HostTensor[] = [
      f32(1, -2, Number.NaN),
      tensor(Uint8Array.of(1, 0, 1), [3], "bool"),
      tensor(BigInt64Array.of(2n ** 31n - 1n, -1n), [2]),
      tensor(new Float32Array(0), [0, 2]),
      tensor(
        Float32Array.from({ length: 70_001 }, (_, index) => index),
        [70_001],
      ),
    ];
    for (const value of values) {
      const there = runtime.upload(value);
      expect(there.isOnDevice).toBe(true);
      expect(await there.download()).toEqual(value);
      expect(there.read()).toEqual(value);
      const copy = runtime.allocate(value);
      copy.copyFrom(there);
      there.release();
      expect(await copy.download()).toEqual(value);
      copy.release();
    }
    expect(runtime.stats()).toEqual({ live: 0, bytes: 0 });
  });

  it("is opened and closed again and again", async () => {
    for (let round = 0; round < 3; round++) {
      const other = await openRuntime({ device: "webgpu" });
      expect(other.upload(f32(round)).read().data[0]).toBe(round);
      await other.dispose();
    }
  });

  it("says in the next run, or when it is asked, that a buffer is too large", async () => {
    const tooLarge = { dtype: "f32", shape: [2 ** 31 - 1] } as const;
    const [one, other] = [runtime.allocate(tooLarge), runtime.allocate(tooLarge)];
    one.copyFrom(other);
    await expect(runtime.expectSound()).rejects.toMatchObject({ code: "MP_OUT_OF_MEMORY" });
    await runtime.expectSound();
    const session = await runtime.createSession(MODEL);
    const binding = runtime.bind(session);
    for (const name of ["x", "last"]) binding.bindInput(name, runtime.upload(f32(1, 2)));
    const y = runtime.allocate({ dtype: "f32", shape: [2] });
    binding.bindOutput("y", y);
    one.copyFrom(other);
    await expect(binding.runAsync()).rejects.toMatchObject({ code: "MP_OUT_OF_MEMORY" });
    await binding.runAsync();
    expect([...(await y.download()).data]).toEqual([2, 6]);
  });

  it("has one device in a process, with the options of the first", async () => {
    await expect(
      openRuntime({ device: "webgpu", webgpu: { powerPreference: "low-power" } }),
    ).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
      details: { asked: '{"powerPreference":"low-power"}', inUse: "{}" },
    });
  });
});

describe("sessions", () => {
  it("say where each node runs", async () => {
    const session = await runtime.createSession(MODEL, { config: RECORD_PLACEMENT });
    expect(placement(session).map(({ op, provider }) => [op, provider])).toEqual([
      ["Mul", "WebGpuExecutionProvider"],
      ["Add", "WebGpuExecutionProvider"],
    ]);
    session.release();
  });

  it("replay the recorded commands of each binding, on what its buffers hold now", async () => {
    const session = await runtime.createSession(MODEL, { capture: true, config: ON_DEVICE_ONLY });
    const [x, one, other] = [f32(0, 0), f32(0, 0), f32(0, 0)].map((value) => runtime.upload(value));
    if (x === undefined || one === undefined || other === undefined) throw new Error("no tensors");
    const bindings = [
      [one, other],
      [other, one],
    ].map(([last, y]) => {
      const binding = runtime.bind(session);
      binding.bindInput("x", x);
      binding.bindInput("last", last as typeof x);
      binding.bindOutput("y", y as typeof x);
      return binding;
    });
    let sum = 0;
    for (let step = 0; step < 8; step++) {
      x.write(f32(step, 1));
      const binding = bindings[step % 2];
      if (step < 4) await binding?.runAsync();
      else binding?.runSync();
      sum += step * step;
      const y = step % 2 === 0 ? other : one;
      expect([...(await y.download()).data]).toEqual([sum, step + 1]);
    }
    const [events] = [await profileRun(bindings[0] as NonNullable<(typeof bindings)[0]>)];
    expect(events.map(({ op }) => op)).toEqual(["Mul", "Add"]);
    for (const binding of bindings) binding.release();
    session.release();
  });
});
