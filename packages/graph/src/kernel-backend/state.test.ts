import { describe, expect, it } from "vitest";
import { type Tiny, type TinyOptions, tinyBackend } from "../../test/tiny-backend.js";
import type { Executable, State, StateBinding } from "../contract/backend.js";
import type { ErrorCode } from "../errors.js";
import { GraphBuilder } from "../graph/build/builder.js";
import type { Graph, ValueType } from "../graph/graph.js";
import { type HostTensor, tensor } from "../host/host-tensor.js";

const f32 = (...numbers: number[]): HostTensor => tensor(Float32Array.from(numbers));
const scalar = (x: number): HostTensor => tensor(Float32Array.of(x), []);
const refusal = (code: ErrorCode, message: string | RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });

/** w ← w + x if x < limit; steps ← steps + 1 always. Outputs: newW, newSteps, applied, loss. */
function stepGraph(): Graph {
  const builder = new GraphBuilder();
  const type: ValueType = { dtype: "f32", shape: [] };
  const w = builder.input("w", type, "state");
  const steps = builder.input("steps", type, "state");
  const x = builder.input("x", type, "batch");
  const newW = builder.emitOne("Add", [w, x], {});
  const newSteps = builder.emitOne("Add", [steps, builder.literal(1, "f32")], {});
  const applied = builder.emitOne("Less", [x, builder.literal(100, "f32")], {});
  return builder.finish({ newW, newSteps, applied, loss: builder.emitOne("Mul", [w, x], {}) });
}

const BINDINGS: readonly StateBinding[] = [
  { slot: "w", input: "w", output: "newW", commit: "when-applied" },
  { slot: "steps", input: "steps", output: "newSteps", commit: "always" },
];

interface Setting extends Tiny {
  readonly state: State;
  readonly step: Executable;
}

async function setting(options: TinyOptions = {}): Promise<Setting> {
  const tiny = tinyBackend(options);
  const state = await tiny.backend.createState({ w: scalar(1), steps: scalar(0) });
  const step = await tiny.backend.compile(stepGraph(), { state, bindings: BINDINGS, applied: "applied" });
  return { ...tiny, state, step };
}

const numbers = async (state: State): Promise<Record<string, number>> =>
  Object.fromEntries(Object.entries(await state.read()).map(([name, { data }]) => [name, Number(data[0])]));

describe("state", () => {
  it("commits all when applied, and only what always commits when not", async () => {
    const { state, step } = await setting();
    const first = await step.run({ x: scalar(2) });
    expect(Object.keys(first).sort()).toEqual(["applied", "loss"]);
    expect([first["applied"]?.data[0], first["loss"]?.data[0]]).toEqual([1, 2]);
    expect(await numbers(state)).toEqual({ w: 3, steps: 1 });
    const skipped = await step.run({ x: scalar(200) });
    expect([skipped["applied"]?.data[0], skipped["loss"]?.data[0]]).toEqual([0, 600]);
    expect(await numbers(state)).toEqual({ w: 3, steps: 2 });
    await step.run({ x: scalar(4) });
    expect(await numbers(state)).toEqual({ w: 7, steps: 3 });
  });

  it("keeps its storage: a step uploads its batch and downloads its results, nothing else", async () => {
    const { step, counts, live } = await setting();
    await step.run({ x: scalar(1) });
    const before = { ...counts, live: live.size };
    for (let count = 0; count < 10; count++) await step.run({ x: scalar(count % 2 === 0 ? 1 : 500) });
    expect(counts.uploads - before.uploads).toBe(10);
    expect(counts.downloads - before.downloads).toBe(20);
    expect(live.size).toBe(before.live);
  });

  it("runs one at a time, in the order of the calls, with reads and writes in between", async () => {
    const { state, step } = await setting({ slow: true });
    const running = [1, 2, 3].map((x) => step.run({ x: scalar(x) }));
    const between = numbers(state);
    const writing = state.write({ w: scalar(100) });
    const last = step.run({ x: scalar(5) });
    expect((await Promise.all(running)).map(({ loss }) => loss?.data[0])).toEqual([1, 4, 12]);
    expect(await between).toEqual({ w: 7, steps: 3 });
    await writing;
    expect((await last)["loss"]?.data[0]).toBe(500);
    expect(await numbers(state)).toEqual({ w: 105, steps: 4 });
  });

  it("is shared by executables, also by ones that only read", async () => {
    const { backend, state, step } = await setting();
    const builder = new GraphBuilder();
    const w = builder.input("weight", { dtype: "f32", shape: [] }, "parameter");
    const doubled = builder.finish({ twice: builder.emitOne("Add", [w, w], {}) });
    const evaluation = await backend.compile(doubled, { state, bindings: [{ slot: "w", input: "weight" }] });
    await step.run({ x: scalar(2) });
    expect((await evaluation.run({}))["twice"]?.data[0]).toBe(6);
    await step.run({ x: scalar(10) });
    expect((await evaluation.run({}))["twice"]?.data[0]).toBe(26);
    expect(await numbers(state)).toEqual({ w: 13, steps: 2 });
  });

  it("survives an output that is its own input, and one output for two slots", async () => {
    const { backend, live } = tinyBackend();
    const state = await backend.createState({ a: f32(1), b: f32(2) });
    const builder = new GraphBuilder();
    const type: ValueType = { dtype: "f32", shape: [1] };
    const a = builder.input("a", type, "state");
    const b = builder.input("b", type, "state");
    const swap = await backend.compile(builder.finish({ newA: b, newB: a }), {
      state,
      bindings: [
        { slot: "a", input: "a", output: "newA" },
        { slot: "b", input: "b", output: "newB" },
      ],
    });
    await swap.run({});
    expect(await numbers(state)).toEqual({ a: 2, b: 1 });
    const both = await backend.compile(builder.finish({ newA: a, newB: a }), {
      state,
      bindings: [
        { slot: "a", input: "a", output: "newA" },
        { slot: "b", input: "b", output: "newA" },
      ],
    });
    await both.run({});
    expect(await numbers(state)).toEqual({ a: 2, b: 2 });
    expect(live.size).toBe(1);
    await state.dispose();
    expect(live.size).toBe(0);
  });

  it("is as it was after a run that fails, be it in a kernel or after all of them", async () => {
    for (const failing of ["kernel", "download"] as const) {
      let broken = false;
      const { state, step, live } = await setting({
        kernels: (make) => ({
          Mul: ([a, b]) => {
            if (broken && failing === "kernel") throw new Error("no product");
            return [make([(a?.data.numbers[0] ?? 0) * (b?.data.numbers[0] ?? 0)])];
          },
        }),
        failDownload: () => broken && failing === "download",
      });
      await step.run({ x: scalar(1) });
      const before = live.size;
      broken = true;
      await expect(step.run({ x: scalar(1) })).rejects.toThrow(
        refusal("MP_BACKEND_FAILED", /no (product|way back)/),
      );
      broken = false;
      expect(await numbers(state)).toEqual({ w: 2, steps: 1 });
      expect(live.size).toBe(before);
      await step.run({ x: scalar(1) });
      expect(await numbers(state)).toEqual({ w: 3, steps: 2 });
    }
  });

  it("is written all or not at all", async () => {
    const { state, live } = await setting({ failUpload: ({ data }) => data[0] === 13 });
    const before = live.size;
    const wrong: readonly (readonly [Record<string, HostTensor>, ErrorCode, string])[] = [
      [{ w: scalar(5), steps: f32(1) }, "MP_SHAPE_MISMATCH", 'state "steps" is f32\\[1\\], needs f32\\[\\]'],
      [{ w: scalar(5), steps: tensor(Int32Array.of(1), []) }, "MP_DTYPE_MISMATCH", 'state "steps" is i32'],
      [{ w: scalar(5), other: scalar(1) }, "MP_INVALID_ARGUMENT", 'there is no "other"'],
      [{ w: scalar(5), steps: scalar(13) }, "MP_BACKEND_FAILED", "no room"],
    ];
    for (const [values, code, message] of wrong) {
      await expect(state.write(values)).rejects.toThrow(refusal(code, message));
      expect(await numbers(state)).toEqual({ w: 1, steps: 0 });
    }
    expect(live.size).toBe(before);
    await state.write({ w: scalar(5) });
    expect(await numbers(state)).toEqual({ w: 5, steps: 0 });
    expect(Object.keys(await state.read(["w"]))).toEqual(["w"]);
    await expect(state.read(["v"])).rejects.toThrow(refusal("MP_INVALID_ARGUMENT", 'there is no "v"'));
  });

  it("is not made when one of its values is refused", async () => {
    const { backend, live } = tinyBackend({ failUpload: ({ data }) => data[0] === 13 });
    await expect(backend.createState({ a: f32(1), b: f32(13), c: f32(2) })).rejects.toThrow(
      refusal("MP_BACKEND_FAILED", "no room"),
    );
    await expect(backend.createState({ a: tensor(new BigInt64Array(1)) })).rejects.toThrow(
      refusal("MP_UNSUPPORTED", 'state "a" is i64'),
    );
    expect(live.size).toBe(0);
    expect(backend.stats().live).toBe(0);
  });

  it("ends after the runs before it, and takes its executables' runs with it", async () => {
    const { backend, state, step, live } = await setting();
    const running = step.run({ x: scalar(1) });
    await Promise.all([state.dispose(), state.dispose()]);
    expect((await running)["loss"]?.data[0]).toBe(1);
    const disposed = (what: string) => refusal("MP_DISPOSED", `${what} has been disposed`);
    await expect(step.run({ x: scalar(1) })).rejects.toThrow(disposed("the executable's state"));
    await expect(state.read()).rejects.toThrow(disposed("the state"));
    await expect(state.write({})).rejects.toThrow(disposed("the state"));
    await expect(backend.compile(stepGraph(), { state })).rejects.toThrow(disposed("the state"));
    await step.dispose();
    expect(live.size).toBe(0);
    expect(backend.stats()).toEqual({ live: 0, bytes: 0 });
  });
});

describe("bindings are refused", () => {
  const applied = "applied";
  it.each<readonly [string, ErrorCode, string, readonly StateBinding[], string | undefined]>([
    ["an unknown slot", "MP_INVALID_ARGUMENT", 'no slot "v"', [{ slot: "v", input: "w" }], applied],
    ["an unknown input", "MP_INVALID_ARGUMENT", 'no input "v"', [{ slot: "w", input: "v" }], applied],
    [
      "an unknown output",
      "MP_INVALID_ARGUMENT",
      'no output "v"',
      [{ slot: "w", input: "w", output: "v" }],
      applied,
    ],
    [
      "an output of another type",
      "MP_DTYPE_MISMATCH",
      'output "applied" of the slot "w" is bool',
      [{ slot: "w", input: "w", output: "applied" }],
      applied,
    ],
    [
      "one input twice",
      "MP_INVALID_ARGUMENT",
      'input "w" is bound twice',
      [
        { slot: "w", input: "w" },
        { slot: "steps", input: "w" },
      ],
      applied,
    ],
    [
      "one slot replaced twice",
      "MP_INVALID_ARGUMENT",
      'slot "w" is replaced twice',
      [
        { slot: "w", input: "w", output: "newW" },
        { slot: "w", input: "steps", output: "newSteps" },
      ],
      applied,
    ],
    [
      "a commit that nothing decides",
      "MP_INVALID_ARGUMENT",
      "no output is named as `applied`",
      BINDINGS,
      undefined,
    ],
    ["an unknown flag", "MP_INVALID_ARGUMENT", 'no output "flag"', BINDINGS, "flag"],
    ["a flag that is no bool", "MP_DTYPE_MISMATCH", 'output "loss" is f32', BINDINGS, "loss"],
  ])("%s", async (_, code, message, bindings, flag) => {
    const { backend, state } = await setting();
    const options = flag === undefined ? { state, bindings } : { state, bindings, applied: flag };
    await expect(backend.compile(stepGraph(), options)).rejects.toThrow(refusal(code, message));
  });

  it("without a state, with another backend's, and inputs given that the state feeds", async () => {
    const { backend, state, step } = await setting();
    await expect(backend.compile(stepGraph(), { bindings: BINDINGS, applied })).rejects.toThrow(
      refusal("MP_INVALID_ARGUMENT", "bindings need a state"),
    );
    const foreign = await tinyBackend().backend.createState({ w: scalar(1) });
    await expect(backend.compile(stepGraph(), { state: foreign })).rejects.toThrow(
      refusal("MP_INVALID_ARGUMENT", "belongs to another backend"),
    );
    await expect(step.run({ x: scalar(1), w: scalar(1) })).rejects.toThrow(
      refusal("MP_INVALID_ARGUMENT", 'input "w" comes from the state'),
    );
    expect(await numbers(state)).toEqual({ w: 1, steps: 0 });
  });
});
