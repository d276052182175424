import { describe, expect, it } from "vitest";
import { type Storage, tinyBackend } from "../../test/tiny-backend.js";
import { emulationWarnings } from "../backend/emulation-warnings.js";
import { deriveManifest } from "../backend/manifest.js";
import type { Backend, Handle } from "../contract/backend.js";
import { DTYPES, type DType } from "../dtype.js";
import type { ErrorCode } from "../errors.js";
import { GraphBuilder } from "../graph/build/builder.js";
import type { Graph, Value, ValueType } from "../graph/graph.js";
import { inferRules } from "../graph/infer/infer.js";
import { type HostTensor, tensor } from "../host/host-tensor.js";
import { reference } from "../reference/index.js";
import type { Kernel } from "./kernel.js";

const type = (dtype: DType, ...shape: number[]): ValueType => ({ dtype, shape });
const f32 = (...numbers: number[]): HostTensor => tensor(Float32Array.from(numbers));
const refusal = (code: ErrorCode, message: string | RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });

/** y = (x + 10) · x, with `views` reshapes on the way. */
function graph(size = 2, views = 0): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", type("f32", size), "batch");
  const ten = builder.constant(tensor(Float32Array.of(10), []));
  let sum = builder.emitOne("Add", [x, ten], {});
  for (let count = 0; count < views; count++) sum = builder.emitOne("Reshape", [sum], { shape: [size] });
  return builder.finish({ y: builder.emitOne("Mul", [sum, x], {}) });
}

function unary(op: "Relu" | "Mul", dtype: DType): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", type(dtype, 2), "batch");
  const value: Value = op === "Relu" ? builder.emitOne(op, [x], {}) : builder.emitOne(op, [x, x], {});
  return builder.finish({ y: value });
}

describe("the derived manifest", () => {
  const { manifest } = tinyBackend().backend;

  it("is total, and says why something is unsupported", () => {
    expect(Object.keys(manifest.ops).sort()).toEqual(Object.keys(inferRules).sort());
    expect(Object.keys(manifest.dtypes).sort()).toEqual([...DTYPES].sort());
    expect(manifest.ops.Relu).toEqual({ unsupported: "no kernel" });
    expect(manifest.dtypes.bf16).toEqual({ unsupported: "no storage" });
  });

  it("lists stored dtypes that the op exists in, or fewer where the author says so", () => {
    expect(manifest.ops.Add).toEqual(["f32", "f16", "i32"]);
    expect(manifest.ops.Mul).toEqual(["f32"]);
    expect(manifest.ops.Constant).toEqual(["f32", "f16", "i32", "bool"]);
  });

  it("says that an op is unsupported where none of its dtypes is stored", () => {
    expect(manifest.ops.RandomBits).toEqual({ unsupported: "no kernel" });
    const claims = { dtypes: { f32: { storage: "f32", compute: "native" } }, opDTypes: { Neg: [] } } as const;
    const { ops } = deriveManifest({ ...manifest, ...claims }, () => true);
    expect(ops.Not).toEqual({ unsupported: "takes bool, no storage" });
    expect(ops.Neg).toEqual({ unsupported: "takes nothing, no storage" });
    expect(Object.values(ops).filter((support) => Array.isArray(support) && support.length === 0)).toEqual(
      [],
    );
  });

  it("is plain data", () => {
    expect(JSON.parse(JSON.stringify(manifest))).toEqual(manifest);
  });
});

describe("compile", () => {
  it.each<readonly [string, Graph, RegExp]>([
    ["an op without kernel", unary("Relu", "f32"), /^tiny: Relu is unsupported: no kernel, node Relu/],
    ["an op not in that dtype", unary("Mul", "i32"), /^tiny: Mul is unsupported: not in i32, node Mul/],
    [
      "a dtype without storage",
      unary("Mul", "bf16"),
      /^tiny: input "x" is bf16\[2\], bf16 is unsupported: no storage/,
    ],
  ])("refuses %s before anything is uploaded", async (_, refused, message) => {
    const { backend, counts } = tinyBackend();
    await expect(backend.compile(refused)).rejects.toThrow(refusal("MP_UNSUPPORTED", message));
    expect(counts.uploads).toBe(0);
    expect(backend.stats().live).toBe(0);
  });

  it("names all that is unsupported, the first with its node and line, a few by name", async () => {
    const builder = new GraphBuilder();
    let x = builder.input("x", type("f32", 2), "batch");
    for (const op of ["Relu", "Exp", "Log", "Exp", "Sqrt", "Tanh", "Sign"] as const) {
      x = builder.emitOne(op, [x], {}, { scope: "", phase: "forward", line: `/app.ts:${op.length}:1` });
    }
    const { backend } = tinyBackend();
    const failure = backend.compile(builder.finish({ y: x }));
    await expect(failure).rejects.toMatchObject({
      code: "MP_UNSUPPORTED",
      message:
        "tiny: Relu is unsupported: no kernel, node Relu (at /app.ts:4:1); so are Exp (no kernel), Log (no kernel), Sqrt (no kernel) and 2 more",
      details: {
        op: "Relu",
        unsupported: ["Relu", "Exp", "Log", "Sqrt", "Tanh", "Sign"].map((op) => ({
          op,
          dtype: "f32",
          reason: "no kernel",
          node: op,
          line: `/app.ts:${op.length}:1`,
        })),
      },
    });
  });

  it("gives kernels bools of 0 and 1, whatever byte is true", async () => {
    const seen: number[][] = [];
    const { backend } = tinyBackend({
      kernels: (make) => ({
        Not: ([x]) => {
          seen.push([...(x?.data.numbers ?? [])]);
          return [make((x?.data.numbers ?? []).map((truth) => 1 - truth))];
        },
      }),
    });
    const builder = new GraphBuilder();
    const truths = tensor(Uint8Array.of(0, 1, 2, 255), [4], "bool");
    const x = builder.input("x", type("bool", 4), "batch");
    const constant = builder.constant(truths);
    const y = { fed: builder.emitOne("Not", [x], {}), constant: builder.emitOne("Not", [constant], {}) };
    const executable = await backend.compile(builder.finish(y));
    const handle = await backend.upload(truths);
    for (const given of [truths, handle]) {
      const { fed } = await executable.run({ x: given });
      expect([...(fed?.data ?? [])]).toEqual([1, 0, 0, 0]);
    }
    expect(seen).toEqual(Array.from({ length: 4 }, () => [0, 1, 1, 1]));
    expect([...truths.data]).toEqual([0, 1, 2, 255]);
    expect((await backend.download(handle)).data).toEqual(Uint8Array.of(0, 1, 1, 1));
  });

  it("refuses a graph that is none", async () => {
    const { nodes, outputs } = graph();
    const { backend } = tinyBackend();
    await expect(backend.compile({ inputs: [], nodes, outputs })).rejects.toThrow(
      refusal("MP_INVALID_ARGUMENT", "before it is made"),
    );
  });

  it("frees what it had uploaded when a constant fails", async () => {
    const { backend, live } = tinyBackend({ failUpload: ({ data }) => data[0] === 2 });
    const builder = new GraphBuilder();
    const [one, two] = [1, 2].map((x) => builder.constant(f32(x))) as [Value, Value];
    const broken = builder.finish({ y: builder.emitOne("Add", [one, two], {}) });
    await expect(backend.compile(broken)).rejects.toThrow(
      refusal("MP_BACKEND_FAILED", "tiny: upload failed: no room"),
    );
    expect(live.size).toBe(0);
  });

  it("warns of dtypes that are computed in another", async () => {
    const { backend } = tinyBackend();
    const builder = new GraphBuilder();
    const x = builder.input("x", type("f16", 2), "batch");
    const emulated = await backend.compile(builder.finish({ y: builder.emitOne("Add", [x, x], {}) }));
    expect(emulated.warnings).toEqual([
      {
        type: "emulated",
        message: "tiny: f16 is emulated: same results as f16, memory of f32, no faster than f32",
      },
    ]);
    expect((await backend.compile(graph())).warnings).toEqual([]);
    const frozen = new GraphBuilder();
    const weight = frozen.input("w", type("f16", 2), "batch");
    const moved = frozen.emitOne("Transpose", [weight], { perm: [0] });
    const y = frozen.emitOne("Cast", [moved], { to: "f32" });
    const { manifest } = await reference();
    expect(emulationWarnings("reference", manifest, frozen.finish({ y }))).toEqual([]);
    const doubled = frozen.emitOne("Add", [moved, moved], {});
    expect(emulationWarnings("reference", manifest, frozen.finish({ doubled }))).toHaveLength(1);
  });
});

describe("run", () => {
  it("computes, with constants uploaded once and everything else released", async () => {
    const { backend, counts, live } = tinyBackend();
    const executable = await backend.compile(graph());
    for (const x of [1, 2, 3]) {
      const { y } = await executable.run({ x: f32(x, -x) });
      expect(y?.data).toEqual(Float32Array.of((x + 10) * x, (10 - x) * -x));
    }
    expect(counts.uploads).toBe(1 + 3);
    expect(live.size).toBe(1);
    await executable.dispose();
    expect(live.size).toBe(0);
    expect(backend.stats()).toEqual({ live: 0, bytes: 0 });
  });

  it("frees each value after its last use", async () => {
    const { backend, counts } = tinyBackend();
    const builder = new GraphBuilder();
    let x = builder.input("x", type("f32", 1), "batch");
    for (let step = 0; step < 50; step++) x = builder.emitOne("Add", [x, x], {});
    const executable = await backend.compile(builder.finish({ y: x }));
    const { y } = await executable.run({ x: f32(1) });
    expect(y?.data[0]).toBe(2 ** 50);
    expect(counts.maxLive).toBe(2);
    expect(executable.memory?.()).toEqual({ peakBytes: 8 });
  });

  it("releases at once what nothing reads", async () => {
    const during: number[] = [];
    const tiny = tinyBackend({
      kernels: (make) => ({
        Mul: ([a]) => {
          during.push(tiny.live.size);
          return [make(a?.data.numbers ?? [])];
        },
      }),
    });
    const builder = new GraphBuilder();
    const x = builder.input("x", type("f32", 3), "batch");
    builder.input("unused", type("f32", 1), "batch");
    const [first] = builder.emit("Split", [x], { axis: 0, split: [1, 2] }) as [Value, Value];
    const y = builder.emitOne("Mul", [first, first], {});
    const executable = await tiny.backend.compile(builder.finish({ y }));
    const outputs = await executable.run({ x: f32(4, 5, 6), unused: f32(0) });
    expect(outputs["y"]?.data).toEqual(Float32Array.of(4));
    expect(during).toEqual([1]);
    expect(tiny.live.size).toBe(0);
  });

  it("lets kernels hand operands through, inputs come out as outputs, and outputs twice", async () => {
    const { backend, live } = tinyBackend();
    const executable = await backend.compile(graph(2, 3));
    expect((await executable.run({ x: f32(1, 2) }))["y"]?.data).toEqual(Float32Array.of(11, 24));
    const builder = new GraphBuilder();
    const x = builder.input("x", type("f32", 1), "batch");
    const same = builder.emitOne("Identity", [x], {});
    const through = await backend.compile(builder.finish({ a: x, b: same, c: same }));
    const handle = await backend.upload(f32(7));
    const outputs = await through.run({ x: handle });
    expect(Object.entries(outputs).map(([name, { data }]) => [name, data[0]])).toEqual([
      ["a", 7],
      ["b", 7],
      ["c", 7],
    ]);
    await Promise.all([executable.dispose(), through.dispose()]);
    expect(live.size).toBe(1);
    handle.dispose();
    expect(live.size).toBe(0);
  });

  it("awaits asynchronous kernels and keeps graph order", async () => {
    const order: string[] = [];
    const { backend, live } = tinyBackend({
      kernels: (make) => {
        const slowly =
          (name: string, f: (a: number, b: number) => number): Kernel<unknown, Storage> =>
          async ([a, b]) => {
            order.push(`${name} starts`);
            await new Promise((resolve) => setTimeout(resolve, 2));
            order.push(`${name} ends`);
            return [make([f(a?.data.numbers[0] as number, b?.data.numbers[0] as number)])];
          };
        return { Add: slowly("Add", (a, b) => a + b), Mul: slowly("Mul", (a, b) => a * b) };
      },
    });
    const executable = await backend.compile(graph(1));
    expect((await executable.run({ x: f32(2) }))["y"]?.data[0]).toBe(24);
    expect(order).toEqual(["Add starts", "Add ends", "Mul starts", "Mul ends"]);
    expect(live.size).toBe(1);
  });

  it("takes the inputs as they are when it is called", async () => {
    const { backend } = tinyBackend();
    const executable = await backend.compile(graph(1));
    const x = f32(1);
    const running = [executable.run({ x })];
    x.data[0] = 2;
    running.push(executable.run({ x }));
    x.data[0] = 99;
    expect((await Promise.all(running)).map(({ y }) => y?.data[0])).toEqual([11, 24]);
  });

  it("takes handles of its own, also when they are disposed before their turn", async () => {
    const { backend, counts, live } = tinyBackend();
    const executable = await backend.compile(graph(1));
    const x = await backend.upload(f32(3));
    const uploads = counts.uploads;
    const running = [executable.run({ x }), executable.run({ x })];
    x.dispose();
    expect((await Promise.all(running)).map(({ y }) => y?.data[0])).toEqual([39, 39]);
    expect(counts.uploads).toBe(uploads);
    expect(live.size).toBe(1);
  });

  it("refuses inputs that do not fit, naming them, and leaves nothing behind", async () => {
    const { backend, live } = tinyBackend();
    const executable = await backend.compile(graph());
    const freed = await backend.upload(f32(1, 2));
    freed.dispose();
    const foreign = await tinyBackend().backend.upload(f32(1, 2));
    const cases: readonly (readonly [Readonly<Record<string, HostTensor | Handle>>, ErrorCode, RegExp])[] = [
      [{}, "MP_INVALID_ARGUMENT", /input "x" is missing/],
      [{ x: f32(1, 2), z: f32(1) }, "MP_INVALID_ARGUMENT", /no input "z", the graph takes x/],
      [{ x: f32(1) }, "MP_SHAPE_MISMATCH", /input "x" is f32\[1\], needs f32\[2\]/],
      [{ x: tensor(Int32Array.of(1, 2)) }, "MP_DTYPE_MISMATCH", /input "x" is i32\[2\], needs f32\[2\]/],
      [{ x: freed }, "MP_DISPOSED", /handle has been disposed/],
      [{ x: foreign }, "MP_INVALID_ARGUMENT", /belongs to another backend/],
      [{ x: [1, 2] as unknown as HostTensor }, "MP_INVALID_ARGUMENT", /input "x" is no tensor/],
      [
        { x: { dtype: "f32", shape: [2], data: new Float64Array(2) as unknown as Float32Array } },
        "MP_DTYPE_MISMATCH",
        /input "x" is f32, which is stored in Float32Array, got Float64Array/,
      ],
      [
        { x: { dtype: "f32", shape: [2], data: new Float32Array(3) } },
        "MP_SHAPE_MISMATCH",
        /holds 3 elements/,
      ],
    ];
    for (const [inputs, code, message] of cases) {
      await expect(executable.run(inputs)).rejects.toThrow(refusal(code, message));
    }
    expect(live.size).toBe(1);
    expect((await executable.run({ x: f32(1, 2) }))["y"]?.data).toEqual(Float32Array.of(11, 24));
  });

  it("wraps a kernel's failure once, names the node, and frees what the run held", async () => {
    const cause = new RangeError("lost the device");
    const fail = (): never => {
      throw cause;
    };
    const kernels: readonly ((make: (numbers: readonly number[]) => Storage) => Kernel<unknown, Storage>)[] =
      [() => fail, () => async () => fail(), () => () => [], (make) => () => [make([1]), make([2])]];
    const causes: unknown[] = [];
    for (const kernel of kernels) {
      const { backend, live } = tinyBackend({ kernels: (make) => ({ Mul: kernel(make) }) });
      const executable = await backend.compile(graph());
      const thrown = await executable.run({ x: f32(1, 2) }).catch((error: unknown) => error);
      expect(thrown).toEqual(
        refusal("MP_BACKEND_FAILED", /^tiny: the kernel of Mul failed: .*, in node Mul$/),
      );
      causes.push((thrown as Error).cause);
      expect(live.size).toBe(1);
    }
    expect(causes.slice(0, 2)).toEqual([cause, cause]);
    expect(causes.slice(2).map(String)).toEqual([
      "Error: it gave 0 of 1 results",
      "Error: it gave 2 of 1 results",
    ]);
  });

  it("frees what was uploaded when another upload of the run fails", async () => {
    const { backend, live } = tinyBackend({ failUpload: ({ data }) => data[0] === 2, slow: true });
    const builder = new GraphBuilder();
    const [a, b, c] = ["a", "b", "c"].map((name) => builder.input(name, type("f32", 1), "batch")) as [
      Value,
      Value,
      Value,
    ];
    const sum = builder.emitOne("Add", [builder.emitOne("Add", [a, b], {}), c], {});
    const executable = await backend.compile(builder.finish({ sum }));
    await expect(executable.run({ a: f32(1), b: f32(2), c: f32(3) })).rejects.toThrow(
      refusal("MP_BACKEND_FAILED", /upload failed: no room/),
    );
    expect(live.size).toBe(0);
  });

  it("profiles every node by name", async () => {
    const { backend } = tinyBackend();
    const executable = await backend.compile(graph());
    const rows = (await executable.profile?.({ x: f32(1, 2) })) ?? [];
    expect(rows.map(({ node, op, calls }) => [node, op, calls])).toEqual([
      ["Add", "Add", 1],
      ["Mul", "Mul", 1],
    ]);
    expect(rows.every(({ microseconds }) => microseconds >= 0)).toBe(true);
  });
});

describe("handles", () => {
  it("hold copies", async () => {
    const { backend } = tinyBackend();
    const x = f32(1, 2);
    const handle = await backend.upload(x);
    x.data[0] = 9;
    expect([handle.dtype, handle.shape]).toEqual(["f32", [2]]);
    const first = await backend.download(handle);
    expect(first.data).toEqual(Float32Array.of(1, 2));
    first.data[0] = 9;
    expect((await backend.download(handle)).data).toEqual(Float32Array.of(1, 2));
    expect(backend.stats()).toEqual({ live: 1, bytes: 8 });
  });

  it("are dead after disposal, and to other backends", async () => {
    const { backend } = tinyBackend();
    const handle = await backend.upload(f32(1));
    handle.dispose();
    const disposed = refusal("MP_DISPOSED", "tiny: the handle has been disposed");
    expect(() => handle.dispose()).toThrow(disposed);
    await expect(backend.download(handle)).rejects.toThrow(disposed);
    const foreign = await tinyBackend().backend.upload(f32(1));
    await expect(backend.download(foreign)).rejects.toThrow(
      refusal("MP_INVALID_ARGUMENT", "another backend"),
    );
    const unstored = tensor(new BigInt64Array(1));
    await expect(backend.upload(unstored)).rejects.toThrow(refusal("MP_UNSUPPORTED", "i64 is unsupported"));
  });
});

describe("dispose", () => {
  it("frees everything, once, after what is running", async () => {
    const { backend, live, counts } = tinyBackend({ slow: true });
    const executable = await backend.compile(graph());
    const state = await backend.createState({ w: f32(1) });
    const handle = await backend.upload(f32(1, 2));
    expect(backend.stats().live).toBe(3);
    const running = executable.run({ x: f32(1, 2) });
    await Promise.all([backend.dispose(), backend.dispose()]);
    expect((await running)["y"]?.data).toEqual(Float32Array.of(11, 24));
    await backend.dispose();
    expect(live.size).toBe(0);
    expect(counts.closed).toBe(1);
    const uses: readonly (() => unknown)[] = [
      () => backend.compile(graph()),
      () => backend.createState({}),
      () => backend.upload(f32(1)),
      () => backend.download(handle),
      () => backend.stats(),
      () => executable.run({ x: f32(1, 2) }),
      () => executable.memory?.(),
      () => state.read(),
      () => state.write({}),
      () => handle.dispose(),
    ];
    for (const use of uses) {
      await expect((async () => use())()).rejects.toThrow(expect.objectContaining({ code: "MP_DISPOSED" }));
    }
  });

  it("catches what was being made meanwhile", async () => {
    const makers: readonly ((backend: Backend) => Promise<unknown>)[] = [
      (backend) => backend.upload(f32(1)),
      (backend) => backend.createState({ w: f32(1) }),
      (backend) => backend.compile(graph()),
    ];
    for (const make of makers) {
      const { backend, live } = tinyBackend({ slow: true });
      const making = make(backend);
      const outcome = making.catch((error: unknown) => error);
      await backend.dispose();
      expect(await outcome).toEqual(refusal("MP_DISPOSED", "the backend has been disposed"));
      expect(live.size).toBe(0);
    }
  });

  it("of an executable lets queued runs end and refuses new ones", async () => {
    const { backend, live } = tinyBackend();
    const executable = await backend.compile(graph(1));
    const running = [executable.run({ x: f32(1) }), executable.run({ x: f32(2) })];
    await Promise.all([executable.dispose(), executable.dispose()]);
    expect((await Promise.all(running)).map(({ y }) => y?.data[0])).toEqual([11, 24]);
    await expect(executable.run({ x: f32(1) })).rejects.toThrow(refusal("MP_DISPOSED", "the executable"));
    expect(live.size).toBe(0);
  });
});
