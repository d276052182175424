import { tensor, type ValueType } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { modelBytes } from "../../test/onnx-bytes.js";
import { acquireEnvironment } from "./environment.js";
import { loadLibrary } from "./library.js";
import { type NativeRuntime, openRuntime } from "./runtime.js";

const PAIR: ValueType = { dtype: "f32", shape: [2] };
const NEGATE = modelBytes({
  nodes: [{ op: "Neg", inputs: ["x"], outputs: ["y"] }],
  inputs: { x: PAIR },
  outputs: { y: PAIR },
});

async function negate(runtime: NativeRuntime): Promise<number[]> {
  const binding = runtime.bind(await runtime.createSession(NEGATE));
  const y = runtime.allocate(PAIR);
  binding.bindInput("x", runtime.upload(tensor(Float32Array.of(1, 2))));
  binding.bindOutput("y", y);
  binding.runSync();
  return [...(y.read().data as Float32Array)];
}

describe("the environment", () => {
  it("is shared by runtimes whose options agree, and refuses others while in use", async () => {
    const first = await openRuntime({ threads: 2, spinning: false });
    const second = await openRuntime();
    await expect(openRuntime({ threads: 1 })).rejects.toThrow(
      expect.objectContaining({
        code: "MP_INVALID_ARGUMENT",
        message: expect.stringContaining("threads 2, got 1"),
        details: { inUse: 2, asked: 1 },
      }),
    );
    await expect(openRuntime({ spinning: true })).rejects.toThrow(/spinning false, got true/);
    await first.dispose();
    expect(await negate(second)).toEqual([-1, -2]);
    await second.dispose();

    const third = await openRuntime({ threads: 1 });
    expect(await negate(third)).toEqual([-1, -2]);
    await third.dispose();
  });

  it("is released once", () => {
    const environment = acquireEnvironment(loadLibrary());
    environment.release();
    expect(() => environment.release()).toThrow(expect.objectContaining({ code: "MP_DISPOSED" }));
  });

  it.each([-1, 1.5, Number.NaN, 5000])("refuses %d threads", async (threads) => {
    await expect(openRuntime({ threads })).rejects.toThrow(
      expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }),
    );
  });

  it("works beside onnxruntime-node's own API, which makes an environment without our threads", async () => {
    const { InferenceSession } = await import("onnxruntime-node");
    const session = await InferenceSession.create(NEGATE);
    const environment = acquireEnvironment(loadLibrary());
    expect(environment.hasThreads).toBe(false);
    environment.release();
    const runtime = await openRuntime({ threads: 2 });
    expect(await negate(runtime)).toEqual([-1, -2]);
    await runtime.dispose();
    await session.release();
  });
});
