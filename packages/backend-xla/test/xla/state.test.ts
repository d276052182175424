import { type Backend, GraphBuilder, MpError } from "@mp/graph";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Client, DeviceBuffer } from "../../src/pjrt/index.js";
import { COUNTING, counting, f32, flag, reading } from "./graphs.js";
import { open } from "./open.js";

afterEach(() => vi.restoreAllMocks());

/** Of a few numbers, which share a buffer, and of many, which have their own. */
const SIZES = [4, 5000];

const filled = (size: number, value: number) => f32(...Array.from({ length: size }, () => value));

async function stateOf(backend: Backend, size: number) {
  const state = await backend.createState({ vector: filled(size, 1), other: f32(7), count: f32(0) });
  const executable = await backend.compile(counting(size), { state, ...COUNTING });
  return { state, executable };
}

describe.each([
  { donate: true, devices: 1 },
  { donate: false, devices: 1 },
  { donate: true, devices: 4 },
  { donate: false, devices: 4 },
])("with %o", (options) => {
  it.each(SIZES)("commits a vector of %i numbers when applied, and the counter always", async (size) => {
    const backend = await open(options);
    const { state, executable } = await stateOf(backend, size);
    const held = backend.stats().bytes;
    for (const [step, isApplied] of [true, false, true].entries()) {
      const { before } = await executable.run({ x: filled(size, 2), applied: flag(isApplied) });
      expect(before?.data[0]).toBe(step);
    }
    const { vector, other, count } = await state.read();
    expect([vector?.data[0], vector?.data.at(-1), other?.data[0], count?.data[0]]).toEqual([5, 5, 7, 3]);
    await state.write({ count: f32(10) });
    expect((await state.read(["count"]))["count"]?.data[0]).toBe(10);
    expect((await state.read(["other"]))["other"]?.data[0]).toBe(7);
    expect(backend.stats().bytes).toBe(held);
    await backend.dispose();
  });

  it("keeps the state where an index is out of range", async () => {
    const backend = await open(options);
    const state = await backend.createState({ vector: f32(1) });
    const bindings = [{ slot: "vector", input: "vector", output: "next", commit: "always" }] as const;
    const executable = await backend.compile(reading(4), { state, bindings });
    const run = (index: number) =>
      executable.run({
        table: f32(10, 20, 30, 40),
        index: { dtype: "i32", shape: [1], data: Int32Array.of(index) },
      });
    await run(1);
    await expect(run(4)).rejects.toMatchObject({ code: "MP_OUT_OF_RANGE" });
    expect((await state.read())["vector"]?.data[0]).toBe(21);
    await run(-1);
    expect((await state.read())["vector"]?.data[0]).toBe(61);
    await backend.dispose();
  });
});

it("refuses a run that would lack memory before it takes over the state", async () => {
  const backend = await open();
  const { state, executable } = await stateOf(backend, 5000);
  vi.spyOn(Client.prototype, "freeBytes").mockReturnValue(-1);
  const inputs = { x: filled(5000, 2), applied: flag(true) };
  await expect(executable.run(inputs)).rejects.toMatchObject({ code: "MP_OUT_OF_MEMORY" });
  vi.restoreAllMocks();
  await executable.run(inputs);
  expect((await state.read(["vector"]))["vector"]?.data[0]).toBe(3);
  await backend.dispose();
});

/** Makes the copies of the next run's results fail, as they do after a run that lacked memory. */
function failOnce(): void {
  vi.spyOn(DeviceBuffer.prototype, "beginDownload").mockImplementationOnce(() => () => {
    throw new MpError("MP_OUT_OF_MEMORY", "RESOURCE_EXHAUSTED");
  });
}

it("loses a donated state with a run that fails in the middle, and says so ever after", async () => {
  const backend = await open();
  const { state, executable } = await stateOf(backend, 5000);
  const inputs = { x: filled(5000, 2), applied: flag(true) };
  failOnce();
  await expect(executable.run(inputs)).rejects.toMatchObject({ code: "MP_OUT_OF_MEMORY" });
  const lost = {
    code: "MP_BACKEND_FAILED",
    message: expect.stringMatching(/state is lost.*RESOURCE_EXHAUSTED.*checkpoint/),
    details: { problem: "state-lost" },
  };
  await expect(executable.run(inputs)).rejects.toMatchObject(lost);
  await expect(state.read()).rejects.toMatchObject(lost);
  await expect(state.write({ count: f32(1) })).rejects.toMatchObject(lost);
  await backend.dispose();
});

it("keeps a state that is not donated when a run fails in the middle", async () => {
  const backend = await open({ donate: false });
  const { state, executable } = await stateOf(backend, 5000);
  const inputs = { x: filled(5000, 2), applied: flag(true) };
  failOnce();
  await expect(executable.run(inputs)).rejects.toMatchObject({ code: "MP_OUT_OF_MEMORY" });
  expect((await state.read(["vector"]))["vector"]?.data[0]).toBe(1);
  await executable.run(inputs);
  expect((await state.read(["vector"]))["vector"]?.data[0]).toBe(3);
  await backend.dispose();
});

it("serves several programs, one of which only reads", async () => {
  const backend = await open();
  const { state, executable } = await stateOf(backend, 5000);
  const builder = new GraphBuilder();
  const vector = builder.input("v", { dtype: "f32", shape: [5000] }, "state");
  const sum = builder.emitOne("ReduceSum", [vector], { axes: [0], keepdims: false });
  const summing = await backend.compile(builder.finish({ sum }), {
    state,
    bindings: [{ slot: "vector", input: "v" }],
  });
  await executable.run({ x: filled(5000, 2), applied: flag(true) });
  expect((await summing.run({}))["sum"]?.data[0]).toBe(15000);
  expect((await summing.run({}))["sum"]?.data[0]).toBe(15000);
  await backend.dispose();
});
