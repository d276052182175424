import {
  type Backend,
  type Executable,
  type Graph,
  GraphBuilder,
  type HostTensor,
  MpError,
  type State,
  tensor,
  type Value,
} from "@mp/graph";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ort } from "../src/index.js";
import { NativeRuntime } from "../src/native/runtime.js";

let backend: Backend;
beforeEach(async () => {
  backend = await ort();
});
afterEach(() => backend.dispose());

const f32 = (...numbers: readonly number[]): HostTensor => tensor(Float32Array.from(numbers));
const flag = (value: boolean): HostTensor => tensor(Uint8Array.of(value ? 1 : 0), [], "bool");

function graphOf(
  inputs: Readonly<Record<string, Pick<Value, "dtype" | "shape">>>,
  outputs: (builder: GraphBuilder, values: Readonly<Record<string, Value>>) => Record<string, Value>,
): Graph {
  const builder = new GraphBuilder();
  const values = Object.fromEntries(
    Object.entries(inputs).map(([name, type]) => [name, builder.input(name, type, "batch")]),
  );
  return builder.finish(outputs(builder, values));
}

const vector = (length: number) => ({ dtype: "f32", shape: [length] }) as const;
const FLAG = { dtype: "bool", shape: [] } as const;

const doubling = graphOf({ x: vector(2) }, (builder, { x }) => ({
  y: builder.emitOne("Add", [x as Value, x as Value], {}),
}));

/** Adds `x` to a slot. */
const adding = graphOf({ sum: vector(2), x: vector(2), go: FLAG }, (builder, { sum, x, go }) => ({
  next: builder.emitOne("Add", [sum as Value, x as Value], {}),
  go: builder.emitOne("Identity", [go as Value], {}),
}));

const compileAdding = (state: State): Promise<Executable> =>
  backend.compile(adding, {
    state,
    bindings: [{ slot: "sum", input: "sum", output: "next", commit: "when-applied" }],
    applied: "go",
  });

async function expectCode(code: string, call: () => unknown): Promise<MpError> {
  try {
    await call();
  } catch (error) {
    if (MpError.is(error)) {
      expect(error.code).toBe(code);
      return error;
    }
    throw error;
  }
  throw new Error(`nothing was thrown, ${code} was wanted`);
}

describe("inputs", () => {
  it("are what they were when run was called, whoever runs first", async () => {
    const executable = await backend.compile(doubling);
    const shared = f32(1, 2);
    const runs = [1, 2, 3].map((value) => {
      (shared.data as Float32Array).fill(value);
      return executable.run({ x: shared });
    });
    (shared.data as Float32Array).fill(99);
    const results = await Promise.all(runs);
    expect(results.map(({ y }) => y?.data[0])).toEqual([2, 4, 6]);
  });

  it("from handles may be disposed of while runs wait for their turn", async () => {
    const executable = await backend.compile(doubling);
    const handle = await backend.upload(f32(3, 4));
    const runs = [
      executable.run({ x: f32(0, 0) }),
      executable.run({ x: handle }),
      executable.run({ x: handle }),
    ];
    handle.dispose();
    const results = await Promise.all(runs);
    expect(results.map(({ y }) => y?.data[1])).toEqual([0, 8, 8]);
    await executable.dispose();
    expect(backend.stats()).toEqual({ live: 0, bytes: 0 });
  });

  it("named like what every object has are missing", async () => {
    const graph = graphOf({ toString: vector(1) }, (_, values) => ({ y: values["toString"] as Value }));
    const executable = await backend.compile(graph);
    await expectCode("MP_INVALID_ARGUMENT", () => executable.run({}));
  });
});

describe("state", () => {
  it("commits by a flag that replaces a slot as well", async () => {
    const state = await backend.createState({ sum: f32(0, 0), last: flag(false) });
    const executable = await backend.compile(
      graphOf({ sum: vector(2), last: FLAG, x: vector(2), go: FLAG }, (builder, { sum, x, go }) => ({
        next: builder.emitOne("Add", [sum as Value, x as Value], {}),
        go: builder.emitOne("Identity", [go as Value], {}),
      })),
      {
        state,
        bindings: [
          { slot: "sum", input: "sum", output: "next", commit: "when-applied" },
          { slot: "last", input: "last", output: "go", commit: "always" },
        ],
        applied: "go",
      },
    );
    const seen: unknown[] = [];
    for (const go of [true, false, true]) {
      await executable.run({ x: f32(1, 1), go: flag(go) });
      const { sum, last } = await state.read();
      seen.push([sum?.data[0], last?.data[0]]);
    }
    expect(seen).toEqual([
      [1, 1],
      [1, 0],
      [2, 1],
    ]);
  });

  it("written while runs wait is written in its turn, as it was", async () => {
    const state = await backend.createState({ sum: f32(0, 0) });
    const executable = await compileAdding(state);
    const update = f32(10, 10);
    const first = executable.run({ x: f32(1, 1), go: flag(true) });
    const written = state.write({ sum: update });
    const second = executable.run({ x: f32(1, 1), go: flag(true) });
    (update.data as Float32Array).fill(99);
    await Promise.all([first, written, second]);
    expect((await state.read())["sum"]?.data[0]).toBe(11);
  });

  it("of many groups of slots keeps few bindings", async () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const state = await backend.createState(Object.fromEntries(names.map((name) => [name, f32(0, 0)])));
    const all = await backend.compile(
      graphOf(Object.fromEntries(names.map((name) => [name, vector(2)])), (builder, values) => ({
        total: names
          .map((name) => values[name] as Value)
          .reduce((a, b) => builder.emitOne("Add", [a, b], {})),
      })),
      { state, bindings: names.map((slot) => ({ slot, input: slot })) },
    );
    const each = await Promise.all(
      names.map((slot) =>
        backend.compile(
          graphOf({ [slot]: vector(2) }, (builder, values) => ({
            next: builder.emitOne("Add", [values[slot] as Value, builder.literal(1, "f32")], {}),
          })),
          { state, bindings: [{ slot, input: slot, output: "next", commit: "always" }] },
        ),
      ),
    );
    // Every one of the 64 combinations of sides, twice.
    for (let turn = 1; turn <= 128; turn++) {
      const bit = Math.log2(turn & -turn) % names.length;
      await each[bit]?.run({});
      expect((await all.run({}))["total"]?.data[0]).toBe(turn);
    }
  });

  it("lets its memory go though programs for it are alive", async () => {
    const state = await backend.createState({ sum: tensor(new Float32Array(2 ** 21)) });
    const length = 2 ** 21;
    const executable = await backend.compile(
      graphOf({ sum: vector(length) }, (builder, { sum }) => ({
        next: builder.emitOne("Add", [sum as Value, builder.literal(1, "f32")], {}),
      })),
      { state, bindings: [{ slot: "sum", input: "sum", output: "next", commit: "always" }] },
    );
    for (let run = 0; run < 3; run++) await executable.run({});
    await state.dispose();
    expect(backend.stats()).toEqual({ live: 1, bytes: 0 });
    await expectCode("MP_DISPOSED", () => executable.run({}));
    await executable.dispose();
    expect(backend.stats()).toEqual({ live: 0, bytes: 0 });
  });
});

describe("disposal", () => {
  const things = ["executable", "state", "handle"] as const;
  const orders = things.flatMap((a) =>
    things
      .filter((b) => b !== a)
      .map((b) => [a, b, things.find((c) => c !== a && c !== b) as (typeof things)[number]]),
  );
  it.each(orders)("%s, %s, %s leaves nothing", async (...order) => {
    const state = await backend.createState({ sum: f32(0, 0) });
    const made = { state, executable: await compileAdding(state), handle: await backend.upload(f32(1, 1)) };
    await made.executable.run({ x: made.handle, go: flag(true) });
    for (const thing of order) await made[thing].dispose();
    expect(backend.stats()).toEqual({ live: 0, bytes: 0 });
  });

  it("waits for runs that were asked for before", async () => {
    const executable = await backend.compile(doubling);
    const runs = Promise.all([1, 2, 3].map((value) => executable.run({ x: f32(value, value) })));
    await executable.dispose();
    expect((await runs).map(({ y }) => y?.data[0])).toEqual([2, 4, 6]);
  });

  it("of the backend while a program is being compiled leaves no program", async () => {
    const other = await ort();
    const state = await other.createState({ sum: f32(0, 0) });
    const compiling = Promise.allSettled([
      other.compile(doubling),
      other.compile(adding, { state, bindings: [{ slot: "sum", input: "sum" }] }),
    ]);
    await other.dispose();
    for (const result of await compiling) {
      expect(result).toMatchObject({ status: "rejected", reason: { code: "MP_DISPOSED" } });
    }
  });
});

describe("failures", () => {
  it("of compiling leave nothing", async () => {
    const constant = tensor(new Float32Array(5000));
    const graph = graphOf({ x: vector(1), y: vector(2) }, (builder, { x, y }) => ({
      sum: builder.emitOne("Add", [x as Value, builder.constant(constant)], {}),
      negative: builder.emitOne("Neg", [y as Value], {}),
    }));
    const before = backend.stats();
    const allocate = NativeRuntime.prototype.allocate;
    const allocating = vi.spyOn(NativeRuntime.prototype, "allocate");
    await (await backend.compile(graph)).dispose();
    expect(backend.stats()).toEqual(before);
    const times = allocating.mock.calls.length;
    expect(times).toBeGreaterThan(4);
    // Memory runs out at each of them in turn.
    for (let last = 1; last <= times; last++) {
      let count = 0;
      allocating.mockImplementation(function (this: NativeRuntime, ...given) {
        if (++count === last) throw new MpError("MP_OUT_OF_MEMORY", "no memory is left");
        return allocate.apply(this, given);
      });
      await expectCode("MP_OUT_OF_MEMORY", () => backend.compile(graph));
      expect([count, backend.stats()]).toEqual([last, before]);
    }
    allocating.mockRestore();
  });

  it("of a run name the node and the line that made it", async () => {
    const graph = graphOf({ x: vector(2), index: { dtype: "i32", shape: [1] } }, (builder, { x, index }) => {
      builder.origin = { scope: "words", phase: "forward", line: "model.ts:7:3" };
      return { y: builder.emitOne("Gather", [x as Value, index as Value], { axis: 0 }) };
    });
    const executable = await backend.compile(graph);
    const index = (at: number): HostTensor => tensor(Int32Array.of(at), [1], "i32");
    const error = await expectCode("MP_OUT_OF_RANGE", () =>
      executable.run({ x: f32(1, 2), index: index(2) }),
    );
    expect(error.message).toMatch(/words\/Gather \(at model\.ts:7:3\)/);
    expect(error.details).toMatchObject({ node: "words/Gather" });
    expect((await executable.run({ x: f32(1, 2), index: index(1) }))["y"]?.data[0]).toBe(2);
  });
});

describe("constants", () => {
  const constant = tensor(Float32Array.from({ length: 2000 }, (_, index) => index));
  const plus = (value: HostTensor, op: "Add" | "Mul"): Graph =>
    graphOf({ x: vector(2000) }, (builder, { x }) => ({
      y: builder.emitOne(op, [x as Value, builder.constant(value)], {}),
      constant: builder.constant(value),
    }));

  it("of some size are shared by content among the programs of a backend, until the last of them goes", async () => {
    const size = constant.data.byteLength;
    const first = await backend.compile(plus(constant, "Add"));
    const alone = backend.stats().bytes;
    const copy = tensor(Float32Array.from(constant.data as Float32Array));
    const second = await backend.compile(plus(copy, "Mul"));
    // Its own memory is the input and two outputs.
    expect(backend.stats().bytes - alone).toBe(3 * size);
    const other = tensor(Float32Array.from(constant.data as Float32Array).fill(7, 1999));
    const third = await backend.compile(plus(other, "Mul"));
    expect(backend.stats().bytes - alone).toBe(7 * size);
    await first.dispose();
    const x = tensor(new Float32Array(2000).fill(2));
    expect((await second.run({ x }))["y"]?.data[1999]).toBe(3998);
    expect((await third.run({ x }))["y"]?.data[1999]).toBe(14);
    expect((await third.run({ x }))["constant"]?.data[1998]).toBe(1998);
    await second.dispose();
    await third.dispose();
    expect(backend.stats()).toEqual({ live: 0, bytes: 0 });
  });
});

describe("memory", () => {
  /** `width` products of one MiB each that are all alive at once. */
  const wide = (width: number): Graph =>
    graphOf({ x: vector(2 ** 18) }, (builder, { x }) => {
      const parts = Array.from({ length: width }, (_, index) =>
        builder.emitOne("Mul", [x as Value, builder.literal(index + 2, "f32")], {}),
      );
      const sum = builder.emitOne("Concat", parts, { axis: 0 });
      return { y: builder.emitOne("ReduceSum", [sum], { axes: [0], keepdims: false }) };
    });

  it("is each program's own, whatever others have taken", async () => {
    const MIB = 2 ** 20;
    const x = tensor(new Float32Array(2 ** 18).fill(1));
    const peaks: number[] = [];
    for (const width of [4, 40, 10]) {
      const executable = await backend.compile(wide(width));
      for (let run = 0; run < 2; run++) await executable.run({ x });
      peaks.push((executable.memory?.().peakBytes ?? 0) / MIB);
      await executable.dispose();
    }
    // Input, parts and their concatenation; the arena may round a block up to the next power of two.
    for (const [index, planned] of [9, 81, 21].entries()) {
      expect(peaks[index]).toBeGreaterThan(planned - 0.1);
      expect(peaks[index]).toBeLessThan(planned * 1.4);
    }
  });
});
