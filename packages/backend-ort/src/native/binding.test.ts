import { type HostTensor, tensor, type ValueType, zeros } from "@mp/graph";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ModelNode, modelBytes } from "../../test/onnx-bytes.js";
import { type NativeRuntime, openRuntime } from "./runtime.js";
import type { NativeSession } from "./session.js";

const PAIR: ValueType = { dtype: "f32", shape: [2] };
const invalid = (text: string) =>
  expect.objectContaining({ code: "MP_INVALID_ARGUMENT", message: expect.stringContaining(text) });
const disposed = expect.objectContaining({ code: "MP_DISPOSED" });

let runtime: NativeRuntime;

beforeEach(async () => {
  runtime = await openRuntime({ threads: 2 });
});

afterEach(async () => {
  await runtime.dispose();
});

const pair = (a: number, b: number): HostTensor => tensor(Float32Array.of(a, b));

function addSession(): Promise<NativeSession> {
  return runtime.createSession(
    modelBytes({
      nodes: [{ op: "Add", inputs: ["x", "y"], outputs: ["sum"] }],
      inputs: { x: PAIR, y: PAIR },
      outputs: { sum: PAIR },
    }),
  );
}

/** A run that is long enough (about 50 ms) to show whether the event loop is free. */
async function longRun() {
  const side = 512;
  const square: ValueType = { dtype: "f32", shape: [side, side] };
  const nodes: ModelNode[] = Array.from({ length: 30 }, (_, index) => ({
    op: "MatMul",
    inputs: [index === 0 ? "x" : `v${index - 1}`, "x"],
    outputs: [index === 29 ? "y" : `v${index}`],
  }));
  const session = await runtime.createSession(
    modelBytes({ nodes, inputs: { x: square }, outputs: { y: square } }),
  );
  const binding = runtime.bind(session);
  const x = runtime.allocate(square);
  x.write(zeros([side, side]));
  binding.bindInput("x", x);
  binding.bindOutput("y", runtime.allocate(square));
  return { session, binding };
}

describe("NativeSession", () => {
  it("knows its inputs and outputs by name", async () => {
    const session = await addSession();
    expect([...session.inputNames]).toEqual(["x", "y"]);
    expect([...session.outputNames]).toEqual(["sum"]);
  });

  it("refuses bytes that are no model, and an operator without a kernel", async () => {
    await expect(runtime.createSession(Uint8Array.of(1, 2, 3))).rejects.toThrow(invalid("protobuf"));
    const half: ValueType = { dtype: "bf16", shape: [2, 2] };
    const model = modelBytes({
      nodes: [{ op: "MatMul", inputs: ["x", "x"], outputs: ["y"] }],
      inputs: { x: half },
      outputs: { y: half },
    });
    await expect(runtime.createSession(model)).rejects.toThrow(
      expect.objectContaining({ code: "MP_UNSUPPORTED", message: expect.stringContaining("MatMul") }),
    );
    expect(runtime.stats().live).toBe(0);
  });

  it("refuses configuration that the engine does not take", async () => {
    const model = modelBytes({
      nodes: [{ op: "Neg", inputs: ["x"], outputs: ["y"] }],
      inputs: { x: PAIR },
      outputs: { y: PAIR },
    });
    await expect(runtime.createSession(model, { config: { "": "1" } })).rejects.toThrow(/config/);
  });

  it("is not released under a binding", async () => {
    const session = await addSession();
    const binding = runtime.bind(session);
    expect(() => session.release()).toThrow(invalid("1 binding(s)"));
    binding.release();
    session.release();
    expect(() => runtime.bind(session)).toThrow(disposed);
  });
});

describe("NativeBinding", () => {
  async function bound() {
    const session = await addSession();
    const binding = runtime.bind(session);
    const x = runtime.upload(pair(1, 2));
    const y = runtime.upload(pair(10, 20));
    const sum = runtime.upload(pair(0, 0));
    binding.bindInput("x", x);
    binding.bindInput("y", y);
    binding.bindOutput("sum", sum);
    return { session, binding, x, y, sum };
  }

  it("runs on this thread and on another, into the memory that was bound", async () => {
    const { binding, x, sum } = await bound();
    binding.runSync();
    expect([...sum.read().data]).toEqual([11, 22]);
    x.write(pair(5, 6));
    await binding.runAsync();
    expect([...sum.read().data]).toEqual([15, 26]);
  });

  it("keeps state in place by alternating two prepared bindings", async () => {
    const session = await addSession();
    const one = runtime.upload(pair(1, 1));
    const sides = [runtime.upload(pair(0, 0)), runtime.upload(pair(0, 0))] as const;
    const bindings = ([0, 1] as const).map((from) => {
      const binding = runtime.bind(session);
      binding.bindInput("x", sides[from]);
      binding.bindInput("y", one);
      binding.bindOutput("sum", sides[from === 0 ? 1 : 0]);
      return binding;
    });
    for (let step = 0; step < 7; step++) bindings[step % 2]?.runSync();
    expect([...sides[1].read().data]).toEqual([7, 7]);
    expect([...sides[0].read().data]).toEqual([6, 6]);
  });

  it("takes a tensor bound anew", async () => {
    const { binding, sum } = await bound();
    binding.bindInput("x", runtime.upload(pair(100, 200)));
    binding.runSync();
    expect([...sum.read().data]).toEqual([110, 220]);
  });

  it("refuses a name that the model lacks and stays usable", async () => {
    const { binding, x, sum } = await bound();
    expect(() => binding.bindInput("z", x)).toThrow(invalid('no input "z", it has x, y'));
    expect(() => binding.bindOutput("x", x)).toThrow(invalid('no output "x", it has sum'));
    binding.bindInput("x", x);
    binding.runSync();
    expect([...sum.read().data]).toEqual([11, 22]);
  });

  it("reports a run that fails, both ways, and runs again once mended", async () => {
    const { binding, x, sum } = await bound();
    binding.bindInput("x", runtime.allocate({ dtype: "f32", shape: [3] }));
    expect(() => binding.runSync()).toThrow(invalid("x"));
    await expect(binding.runAsync()).rejects.toThrow(invalid("x"));
    binding.bindInput("x", runtime.allocate({ dtype: "i32", shape: [2] }));
    expect(() => binding.runSync()).toThrow(invalid("x"));
    binding.bindInput("x", x);
    binding.runSync();
    expect([...sum.read().data]).toEqual([11, 22]);
  });

  it("says that memory ran out in a run, whichever arena it ran out of", async () => {
    const scalar: ValueType = { dtype: "f32", shape: [] };
    const model = modelBytes({
      nodes: [
        { op: "Expand", inputs: ["x", "shape"], outputs: ["huge"] },
        { op: "ReduceSum", inputs: ["huge"], outputs: ["y"], attributes: { keepdims: 0 } },
      ],
      inputs: { x: scalar },
      outputs: { y: scalar },
      initializers: { shape: tensor(BigInt64Array.of(1_000_000n, 100_000_000n)) },
    });
    for (const arena of ["shared", "own", "none"] as const) {
      const binding = runtime.bind(await runtime.createSession(model, { arena }));
      binding.bindInput("x", runtime.upload(zeros([])));
      binding.bindOutput("y", runtime.allocate(scalar));
      const outOfMemory = expect.objectContaining({ code: "MP_OUT_OF_MEMORY" });
      expect(() => binding.runSync()).toThrow(outOfMemory);
      await expect(binding.runAsync()).rejects.toThrow(outOfMemory);
    }
  });

  it("does not run with a released tensor, whichever side it is on", async () => {
    const { binding, x } = await bound();
    x.release();
    expect(() => binding.runSync()).toThrow(disposed);
    expect(() => binding.runAsync()).toThrow(disposed);
    expect(() => binding.bindInput("y", x)).toThrow(disposed);
  });

  it("is one run at a time, and can be neither rebound nor released meanwhile", async () => {
    const { session, binding } = await longRun();
    const x = runtime.allocate({ dtype: "f32", shape: [512, 512] });
    const run = binding.runAsync();
    expect(binding.isRunning).toBe(true);
    for (const action of [
      () => binding.runSync(),
      () => binding.runAsync(),
      () => binding.bindInput("x", x),
      () => binding.release(),
      () => session.release(),
    ]) {
      expect(action).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
    }
    await run;
    expect(binding.isRunning).toBe(false);
    binding.runSync();
    binding.release();
    expect(() => binding.runSync()).toThrow(disposed);
    expect(() => binding.release()).toThrow(disposed);
  });

  it("leaves the event loop free when asynchronous, and only then", async () => {
    const { binding } = await longRun();
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    binding.runSync();
    expect(ticks).toBe(0);
    while (ticks < 3) await binding.runAsync();
    clearInterval(timer);
    expect(ticks).toBeGreaterThanOrEqual(3);
  });

  it("runs two bindings of a session side by side", async () => {
    const first = await longRun();
    const second = runtime.bind(first.session);
    const square: ValueType = { dtype: "f32", shape: [512, 512] };
    const x = runtime.allocate(square);
    const y = runtime.allocate(square);
    x.write(zeros([512, 512]));
    second.bindInput("x", x);
    second.bindOutput("y", y);
    await Promise.all([first.binding.runAsync(), second.runAsync()]);
    expect(y.view().every((value) => value === 0)).toBe(true);
  });
});

describe("NativeRuntime", () => {
  it("waits for a run in flight before it frees everything", async () => {
    const { binding } = await longRun();
    let isDone = false;
    const run = binding.runAsync().then(() => {
      isDone = true;
    });
    await runtime.dispose();
    expect(isDone).toBe(true);
    await run;
    expect(runtime.stats()).toEqual({ live: 0, bytes: 0 });
    expect(binding.isReleased).toBe(true);
  });

  it("waits for a session that is being made, and frees it too", async () => {
    const session = addSession();
    await runtime.dispose();
    expect((await session).isReleased).toBe(true);
    expect(runtime.stats().live).toBe(0);
  });

  it("is idempotent in dispose and MP_DISPOSED in everything else", async () => {
    await runtime.dispose();
    await runtime.dispose();
    expect(() => runtime.allocate(PAIR)).toThrow(disposed);
    await expect(addSession()).rejects.toThrow(disposed);
  });
});
