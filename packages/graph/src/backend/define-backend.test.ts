/** Tests the promises of `defineBackend`, also with faulty hooks: callers get a code, and nothing stays in use. */
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { type Block, type EngineHooks, tracedEngine } from "../../test/traced-engine.js";
import type { Backend, Executable, State } from "../contract/backend.js";
import type { ErrorCode } from "../errors.js";
import { GraphBuilder } from "../graph/build/builder.js";
import type { Graph } from "../graph/graph.js";
import { type HostTensor, tensor } from "../host/host-tensor.js";
import { defineBackend } from "./define-backend.js";
import type { BackendHooks, Program, StateFunctions } from "./hooks.js";

const f32 = (...numbers: readonly number[]): HostTensor => tensor(Float32Array.from(numbers));
const numbers = (value: HostTensor | undefined): readonly number[] => [
  ...((value?.data ?? []) as Float32Array),
];
const refusal = (code: ErrorCode, message: RegExp) =>
  expect.objectContaining({ name: "MpError", code, message: expect.stringMatching(message) });
const later = (ms = 5): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** y = x + 1. */
function shifting(): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", f32(0, 0), "batch");
  return builder.finish({ y: builder.emitOne("Add", [x, builder.literal(1, "f32")], {}) });
}

/** w ← w + x, committed if x is below 100; the output `seen` is the old w. */
function stepping(): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", f32(0), "batch");
  const w = builder.input("w", f32(0), "parameter");
  const below = builder.emitOne("Less", [x, builder.literal(100, "f32")], {});
  return builder.finish({
    next: builder.emitOne("Add", [w, x], {}),
    seen: w,
    applied: builder.emitOne("Reshape", [below], { shape: [] }),
  });
}

const COMMITTED = {
  bindings: [{ slot: "w", input: "w", output: "next", commit: "when-applied" }],
  applied: "applied",
} as const;

async function stateful(backend: Backend): Promise<{ state: State; step: Executable }> {
  const state = await backend.createState({ w: f32(1) });
  return { state, step: await backend.compile(stepping(), { state, ...COMMITTED }) };
}

const one: Block = { tensor: f32(1) };
const truth: Block = { tensor: tensor(Uint8Array.of(1), [], "bool") };

const broken = (): never => {
  throw new Error("on purpose");
};

/** An engine that keeps states itself; each is a list of one block. */
const keeping = (
  changes: Partial<StateFunctions<Block[]>>,
  program?: Partial<Program<Block>>,
): EngineHooks => ({
  states: {
    create: ({ w }) => [{ tensor: w as HostTensor }],
    read: ([block]) => ({
      w: { ...(block as Block).tensor, data: (block as Block).tensor.data.slice() } as HostTensor,
    }),
    write: (state, { w }) => void state.splice(0, 1, { tensor: f32(...numbers(w)) }),
    release: (state) => void state.splice(0),
    bytes: () => 4,
    ...changes,
  },
  ...(program === undefined ? {} : { compile: () => ({ run: () => ({}), ...program }) }),
});

describe("what an author gets wrong", () => {
  const shift = async (backend: Backend) => (await backend.compile(shifting())).run({ x: f32(1, 2) });
  const failed = "MP_BACKEND_FAILED";
  it.each<[string, EngineHooks, (backend: Backend) => Promise<unknown>, ErrorCode, RegExp]>([
    [
      "upload throws",
      { upload: broken },
      (it) => it.upload(f32(1)),
      failed,
      /^traced: upload failed: on purpose/,
    ],
    ["upload throws in a run", { upload: broken }, shift, failed, /^traced: upload failed: on purpose/],
    ["upload throws for a state", { upload: broken }, stateful, failed, /^traced: upload failed: on purpose/],
    ["download throws", { download: broken }, shift, failed, /^traced: download failed: on purpose/],
    ["download rejects", { download: async () => broken() }, shift, failed, /download failed: on purpose/],
    [
      "download gives another shape",
      { download: () => f32(1) },
      shift,
      failed,
      /gave is f32\[1\], needs f32\[2\]/,
    ],
    ["compile throws", { compile: broken }, shift, failed, /^traced: compile failed: on purpose/],
    [
      "compile gives nothing",
      { compile: () => undefined as never },
      shift,
      failed,
      /it gave undefined in place of a program/,
    ],
    ["run throws", { compile: () => ({ run: broken }) }, shift, failed, /^traced: run failed: on purpose/],
    [
      "run rejects",
      { compile: () => ({ run: async () => broken() }) },
      shift,
      failed,
      /run failed: on purpose/,
    ],
    [
      "run gives nothing",
      { compile: () => ({ run: () => undefined as never }) },
      shift,
      failed,
      /it gave undefined in place of results/,
    ],
    [
      "run gives too few results",
      { compile: () => ({ run: () => ({}) }) },
      shift,
      failed,
      /run failed: it gave no "y"/,
    ],
    [
      "run gives what is no output",
      { compile: () => ({ run: ({ x }) => ({ y: x as Block, z: x as Block }) }) },
      shift,
      failed,
      /it gave "z", which is no output/,
    ],
    [
      "run has no memory left",
      { compile: () => ({ run: () => new Float64Array(-1) as never }) },
      shift,
      "MP_OUT_OF_MEMORY",
      /^traced: run failed/,
    ],
    [
      "create of a state throws",
      keeping({ create: broken }),
      stateful,
      failed,
      /^traced: createState failed/,
    ],
    [
      "read of a state throws",
      keeping({ read: broken }),
      async (it) => (await stateful(it)).state.read(),
      failed,
      /^traced: read failed/,
    ],
    [
      "read of a state gives nothing",
      keeping({ read: () => undefined as never }),
      async (it) => (await stateful(it)).state.read(),
      failed,
      /^traced: read failed: it gave undefined in place of values by slot/,
    ],
    [
      "read of a state gives too little",
      keeping({ read: () => ({}) }),
      async (it) => (await stateful(it)).state.read(),
      failed,
      /^traced: read failed: it gave no "w"/,
    ],
    [
      "read of a state gives another shape",
      keeping({ read: () => ({ w: f32(1, 2) }) }),
      async (it) => (await stateful(it)).state.read(),
      failed,
      /^traced: read failed: what it gave is f32\[2\], needs f32\[1\]/,
    ],
    [
      "bytes of a state throws",
      keeping({ bytes: broken }),
      async (it) => {
        await stateful(it);
        return it.stats();
      },
      failed,
      /^traced: bytes failed: on purpose/,
    ],
    [
      "bytes of a state gives no count",
      keeping({ bytes: async () => 4 } as unknown as Partial<StateFunctions<Block[]>>),
      async (it) => {
        await stateful(it);
        return it.stats();
      },
      failed,
      /^traced: bytes failed: it gave a promise in place of a number of bytes/,
    ],
    [
      "heldBytes throws",
      { heldBytes: broken },
      async (it) => it.stats(),
      failed,
      /^traced: heldBytes failed/,
    ],
    ["adopt throws", { adopt: broken }, async (it) => it.adopt?.({}), failed, /^traced: adopt failed/],
    [
      "what is thrown has no text",
      {
        compile: () => {
          throw Object.create(null);
        },
      },
      shift,
      failed,
      /^traced: compile failed: an object/,
    ],
    [
      "write of a state throws",
      keeping({ write: broken }),
      async (it) => (await stateful(it)).state.write({ w: f32(1) }),
      failed,
      /^traced: write failed/,
    ],
    [
      "commit throws",
      {
        ...keeping({}, { run: () => ({ seen: one, applied: truth }), commit: broken }),
        results: "until-next-run",
        download: ({ tensor }) => tensor,
      },
      async (it) => (await stateful(it)).step.run({ x: f32(1) }),
      failed,
      /^traced: commit failed/,
    ],
  ])("%s", async (_, hooks, call, code, message) => {
    const { backend, events, live } = tracedEngine(() => hooks);
    await expect(call(backend)).rejects.toEqual(refusal(code, message));
    await backend.dispose();
    expect(live.size).toBe(0);
    expect(events.at(-1)).toBe("closed");
  });

  it.each<[string, EngineHooks]>([
    ["dispose of a program throws", { compile: () => ({ run: () => ({}), dispose: broken }) }],
    ["release of a state throws", keeping({ release: broken })],
    ["close throws", { close: broken }],
  ])("%s, and the rest ends all the same", async (_, hooks) => {
    const { backend, live } = tracedEngine(() => hooks);
    await stateful(backend);
    await backend.upload(f32(1));
    const message = /^traced: (dispose|release|close) failed: on purpose/;
    await expect(backend.dispose()).rejects.toEqual(refusal("MP_BACKEND_FAILED", message));
    expect(live.size).toBe(0);
    await expect(backend.upload(f32(1))).rejects.toEqual(
      refusal("MP_DISPOSED", /the backend has been disposed/),
    );
  });
});

describe("hooks that are missing or of another kind", () => {
  const hooks = { name: "mine", manifest: {}, upload: broken, download: broken, compile: broken };
  it.each([
    [undefined, /^defineBackend: the argument must be an object, got undefined/],
    [{ ...hooks, compile: undefined }, /^defineBackend: compile must be a function, got undefined/],
    [{ ...hooks, upload: {} }, /^defineBackend: upload must be a function/],
    [
      { ...hooks, results: "until" },
      /^defineBackend: results must be "own" or "until-next-run", got "until"/,
    ],
    [{ ...hooks, states: true }, /^defineBackend: states must be an object, got true/],
  ])("are refused when the backend is defined (%#)", (given, message) => {
    expect(() => defineBackend(given as never)).toThrow(refusal("MP_INVALID_ARGUMENT", message));
  });
});

describe("a run", () => {
  it("that fails leaves the state as it was, and later runs alone", async () => {
    let isBroken = false;
    const { backend, live } = tracedEngine(({ make }) => ({
      download: (block) => (isBroken ? broken() : block.tensor),
      upload: make,
    }));
    const { state, step } = await stateful(backend);
    isBroken = true;
    await expect(step.run({ x: f32(5) })).rejects.toEqual(refusal("MP_BACKEND_FAILED", /download/));
    isBroken = false;
    expect(numbers((await step.run({ x: f32(2) }))["seen"])).toEqual([1]);
    expect(numbers((await state.read())["w"])).toEqual([3]);
    expect(live.size).toBe(1);
    await backend.dispose();
  });

  it("is asked for adjacent slots of f32 only", async () => {
    const { backend, live } = tracedEngine();
    const flag = tensor(Uint8Array.of(1), [], "bool");
    const values = { w: f32(1), v: f32(2), flag };
    for (const [adjacent, error] of [
      [[["w", "flag"]], refusal("MP_DTYPE_MISMATCH", /adjacent: "flag" is bool, f32 is needed/)],
      [[["w", "u"]], refusal("MP_INVALID_ARGUMENT", /there is no "u"/)],
      [[["w"], ["v", "w"]], refusal("MP_INVALID_ARGUMENT", /adjacent: "w" is there twice/)],
    ] as const)
      await expect(backend.createState(values, { adjacent })).rejects.toEqual(error);
    expect(live.size).toBe(0);
    const state = await backend.createState(values, { adjacent: [["v", "w"]] });
    expect(state.inPlace).toBeUndefined();
    await backend.dispose();
  });

  it("may return operands and one storage twice, which are released once", async () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", f32(0), "batch");
    const w = builder.input("w", f32(0), "parameter");
    const graph = builder.finish({ a: x, b: x, next: x, w });
    const { backend, live } = tracedEngine(() => ({
      compile: () => ({ run: ({ x, w }) => ({ a: x, b: x, next: x, w }) as Record<string, Block> }),
    }));
    const state = await backend.createState({ w: f32(1), v: f32(2) });
    const bindings = [{ slot: "w", input: "w", output: "next" }] as const;
    const step = await backend.compile(graph, { state, bindings });
    const handle = await backend.upload(f32(7));
    const running = step.run({ x: handle });
    handle.dispose();
    const { a, b, w: old } = await running;
    expect([numbers(a), numbers(b), numbers(old)]).toEqual([[7], [7], [1]]);
    expect(numbers((await state.read())["w"])).toEqual([7]);
    expect(live.size).toBe(2);
    expect(backend.stats()).toEqual({ live: 2, bytes: 8 });
    await backend.dispose();
    expect(live.size).toBe(0);
  });

  it("may leave its results in buffers that the next one writes to", async () => {
    const buffers = { next: f32(0), seen: f32(0), applied: tensor(Uint8Array.of(1), [], "bool") };
    const { backend, live } = tracedEngine(() => ({
      results: "until-next-run",
      compile: () => ({
        run: ({ x, w }) => {
          const [given, known] = [x, w].map((block) => numbers((block as Block).tensor)[0] ?? 0);
          buffers.seen.data[0] = known ?? 0;
          buffers.next.data[0] = (given ?? 0) + (known ?? 0);
          buffers.applied.data[0] = Number((given ?? 0) < 100);
          return {
            next: { tensor: buffers.next },
            seen: { tensor: buffers.seen },
            applied: { tensor: buffers.applied },
          };
        },
      }),
      download: ({ tensor }) => ({ ...tensor, data: tensor.data.slice() }) as HostTensor,
    }));
    const { state, step } = await stateful(backend);
    const results = await Promise.all([2, 300, 4].map((x) => step.run({ x: f32(x) })));
    expect(results.map(({ seen }) => numbers(seen)[0])).toEqual([1, 3, 3]);
    expect(numbers((await state.read())["w"])).toEqual([7]);
    expect(live.size).toBe(1);
    await backend.dispose();
  });

  it("is fed into buffers at once when it is next, from copies when it waits", async () => {
    const feeds: string[] = [];
    let fed = 0;
    const { backend, live } = tracedEngine(({ make }) => ({
      compile: () => ({
        feed: {
          write: (_, { data }) => {
            fed = Number(data[0]);
            feeds.push(`write ${fed}`);
          },
          copy: (_, { tensor }) => {
            fed = Number(tensor.data[0]);
            feeds.push(`copy ${fed}`);
          },
        },
        run: async (inputs) => {
          expect(inputs).toEqual({});
          const value = fed;
          await later();
          return { y: make(f32(value, value)) };
        },
      }),
    }));
    const executable = await backend.compile(shifting());
    const handle = await backend.upload(f32(3, 3));
    const array = tensor(Float32Array.of(1, 1));
    const first = executable.run({ x: array });
    expect(feeds).toEqual(["write 1"]);
    array.data.fill(2);
    const others = [executable.run({ x: array }), executable.run({ x: handle })];
    array.data.fill(9);
    handle.dispose();
    expect(feeds).toEqual(["write 1"]);
    const results = await Promise.all([first, ...others]);
    expect(results.map(({ y }) => numbers(y)[0])).toEqual([1, 2, 3]);
    expect(feeds).toEqual(["write 1", "write 2", "copy 3"]);
    expect(live.size).toBe(0);
  });
});

describe("disposal", () => {
  /** A backend whose `compile` ends only after some time. */
  const slow = () =>
    tracedEngine(({ events }) => ({
      compile: async () => {
        await later();
        events.push("compiled");
        return { run: () => ({}), dispose: () => void events.push("program ended") };
      },
      ...keeping({ release: () => void events.push("state released") }),
    }));
  const gone = (what: string) => refusal("MP_DISPOSED", new RegExp(`${what} has been disposed`));

  it("of the backend waits for what is being compiled, which ends", async () => {
    const { backend, events } = slow();
    const compiling = expect(backend.compile(shifting())).rejects.toEqual(gone("the backend"));
    await backend.dispose();
    await compiling;
    expect(events).toEqual(["compiled", "program ended", "closed"]);
  });

  it("of a state waits for what is being compiled for it, which ends first", async () => {
    const { backend, events } = slow();
    const state = await backend.createState({ w: f32(1) });
    const compiling = expect(backend.compile(stepping(), { state, ...COMMITTED })).rejects.toEqual(
      gone("the state"),
    );
    await state.dispose();
    await compiling;
    expect(events).toEqual(["compiled", "program ended", "state released"]);
    expect(backend.stats().live).toBe(0);
  });

  it("of a state ends its programs before it, in whatever order they are disposed", async () => {
    for (const order of [["state"], ["state", "step"], ["step", "state"]] as const) {
      const { backend, events } = slow();
      const owned = await stateful(backend);
      await Promise.all(order.map((one) => owned[one].dispose()));
      await expect(owned.step.run({ x: f32(1) })).rejects.toEqual(gone("the executable(.s state)?"));
      await owned.step.dispose();
      expect(events).toEqual(["compiled", "program ended", "state released"]);
      expect(backend.stats().live).toBe(0);
    }
  });

  it("in the middle of a run lets it end; twice is once", async () => {
    const { backend, events, live } = tracedEngine(({ make, events }) => ({
      compile: () => ({
        run: async () => {
          await later();
          events.push("ran");
          return { y: make(f32(1, 2)) };
        },
        dispose: () => void events.push("program ended"),
      }),
    }));
    const executable = await backend.compile(shifting());
    const running = executable.run({ x: f32(0, 0) });
    const ending = [backend.dispose(), backend.dispose()];
    await expect(executable.run({ x: f32(0, 0) })).rejects.toEqual(gone("the executable"));
    expect(numbers((await running)["y"])).toEqual([1, 2]);
    await Promise.all([...ending, executable.dispose()]);
    expect(events).toEqual(["ran", "program ended", "closed"]);
    expect(live.size).toBe(0);
  });
});

it("handles and states of another backend are refused, as are those that were disposed", async () => {
  const [{ backend }, { backend: other }] = [tracedEngine(), tracedEngine()];
  const [handle, state] = [await other.upload(f32(1, 2)), await other.createState({ w: f32(1) })];
  const executable = await backend.compile(shifting());
  const foreign = refusal("MP_INVALID_ARGUMENT", /belongs to another backend/);
  await expect(backend.download(handle)).rejects.toEqual(foreign);
  await expect(executable.run({ x: handle })).rejects.toEqual(foreign);
  await expect(backend.compile(stepping(), { state, ...COMMITTED })).rejects.toEqual(foreign);
  handle.dispose();
  await state.dispose();
  const disposed = (what: string) => refusal("MP_DISPOSED", new RegExp(`the ${what} has been disposed`));
  await expect(other.download(handle)).rejects.toEqual(disposed("handle"));
  await expect(other.compile(stepping(), { state, ...COMMITTED })).rejects.toEqual(disposed("state"));
});

it("hooks may give promises of another realm", async () => {
  const Foreign: PromiseConstructor = runInNewContext("Promise");
  const block: Block = { tensor: f32(1, 2) };
  const { backend, events } = tracedEngine(({ make }) => ({
    upload: (given) => Foreign.resolve(make(given)),
    download: (stored) => Foreign.resolve(stored.tensor),
    compile: () => Foreign.resolve({ run: () => Foreign.resolve({ y: block }) }),
    release: () => {},
  }));
  const executable = await backend.compile(shifting());
  const { y } = await executable.run({ x: f32(5, 6) });
  expect(numbers(y)).toEqual([1, 2]);
  const handle = await backend.upload(f32(3));
  expect(numbers(await backend.download(handle))).toEqual([3]);
  await backend.dispose();
  expect(events.at(-1)).toBe("closed");
});

it("hooks may be methods of a class", async () => {
  const traced = tracedEngine();
  const { manifest } = traced.backend;
  class Engine implements BackendHooks<Block, never> {
    readonly name = "methods";
    readonly manifest = manifest;
    readonly events: string[] = [];
    upload(given: HostTensor): Block {
      this.events.push("upload");
      return { tensor: given };
    }
    download({ tensor: stored }: Block): HostTensor {
      this.events.push("download");
      return stored;
    }
    adopt(): HostTensor {
      this.events.push("adopt");
      return f32(1);
    }
    heldBytes(): number {
      this.events.push("bytes");
      return 12;
    }
    compile(): Program<Block> {
      this.events.push("compile");
      return { run: ({ x }) => ({ y: x as Block }) };
    }
    close(): void {
      this.events.push("close");
    }
  }
  const engine = new Engine();
  const backend = defineBackend(engine);
  await (await backend.compile(shifting())).run({ x: f32(1, 2) });
  backend.adopt?.({});
  expect(backend.stats().bytes).toBe(12);
  await backend.dispose();
  expect(engine.events).toEqual(["compile", "upload", "download", "adopt", "bytes", "close"]);
});
