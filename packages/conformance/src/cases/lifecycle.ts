/** Tests what a run accepts and returns, and the use of executables and handles after disposal. */
import { type Handle, type HostTensor, MpError, type RunInput } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { expectCode, expectEqual, expectThat } from "../expectations.js";
import { generate } from "../host-data.js";
import { adding, at, buildGraph, doubling, f32, scalar, sum, valueType } from "../small-graphs.js";
import { expectSame, scriptedCase, withExecutable } from "./kinds/scripted-case.js";

const handles: readonly ConformanceCase[] = [
  scriptedCase("lifecycle/handle/use-after-dispose", doubling, async (backend) => {
    const handle = await backend.upload(f32(1, 2, 3));
    handle.dispose();
    await expectCode("MP_DISPOSED", "download of a disposed handle", () => backend.download(handle));
    await expectCode("MP_DISPOSED", "a second dispose of a handle", () => handle.dispose());
    await withExecutable(backend, doubling, (executable) =>
      expectCode("MP_DISPOSED", "run with a disposed handle", () => executable.run({ x: handle })),
    );
  }),
  scriptedCase("lifecycle/handle/serves-many-runs", adding, async (backend) => {
    const handle = await backend.upload(f32(1, 2, 3));
    await withExecutable(backend, adding, async (executable) => {
      for (let run = 0; run < 3; run++) {
        expectSame(
          (await executable.run({ x: handle, y: f32(run, 0, 0) }))["z"],
          f32(1 + run, 2, 3),
          `run ${run}`,
        );
      }
      expectSame((await executable.run({ x: handle, y: handle }))["z"], f32(2, 4, 6), "a handle fed twice");
    });
    expectSame(await backend.download(handle), f32(1, 2, 3), "the handle afterwards");
    handle.dispose();
  }),
  scriptedCase("lifecycle/handle/may-go-once-a-run-is-under-way", doubling, async (backend) => {
    await withExecutable(backend, doubling, async (executable) => {
      const handle = await backend.upload(f32(1, 2, 3));
      const running = executable.run({ x: handle });
      handle.dispose();
      const result = await running.catch((error: unknown) => error);
      if (MpError.is(result, "MP_DISPOSED")) return;
      expectSame((result as Readonly<Record<string, HostTensor>>)["y"], f32(2, 4, 6), "the run under way");
    });
  }),
  scriptedCase("lifecycle/handle/is-not-what-looks-like-one", doubling, async (backend) => {
    const real = await backend.upload(f32(1, 2, 3));
    const lookalike = { dtype: real.dtype, shape: real.shape, dispose: () => undefined };
    for (const [what, value] of Object.entries({
      "a lookalike": lookalike,
      "a number": 1,
      nothing: undefined,
    })) {
      const bad = value as Handle;
      await expectCode("MP_INVALID_ARGUMENT", `download of ${what}`, () => backend.download(bad));
    }
    real.dispose();
  }),
  scriptedCase("lifecycle/handle/counts-as-live", doubling, async (backend) => {
    const before = backend.stats();
    const all = await Promise.all([1, 2, 3].map((x) => backend.upload(generate("f32", [1000], () => x))));
    const during = backend.stats();
    expectEqual(during.live - before.live, 3, "live things after three uploads");
    expectThat(
      during.bytes - before.bytes >= 12_000,
      `${during.bytes - before.bytes} bytes for 3 uploads of 4000`,
    );
    for (const handle of all) handle.dispose();
    expectEqual(backend.stats(), before, "stats after three disposals");
  }),
];

type Inputs = Readonly<Record<string, RunInput>>;

/** Invalid inputs of `adding`, each with the expected error code. */
const unfit = (): readonly (readonly [
  what: string,
  code: "MP_INVALID_ARGUMENT" | "MP_SHAPE_MISMATCH" | "MP_DTYPE_MISMATCH",
  inputs: Inputs,
  names: string,
])[] => [
  ["a missing input", "MP_INVALID_ARGUMENT", { x: f32(1, 2, 3) }, "y"],
  ["an input too many", "MP_INVALID_ARGUMENT", { x: f32(1, 2, 3), y: f32(1, 2, 3), q: f32(1) }, "q"],
  ["an input of another length", "MP_SHAPE_MISMATCH", { x: f32(1, 2, 3), y: f32(1, 2) }, "y"],
  [
    "an input of another rank",
    "MP_SHAPE_MISMATCH",
    { x: f32(1, 2, 3), y: generate("f32", [1, 3], () => 0) },
    "y",
  ],
  ["a scalar for a vector", "MP_SHAPE_MISMATCH", { x: f32(1, 2, 3), y: scalar(1) }, "y"],
  [
    "an input of another dtype",
    "MP_DTYPE_MISMATCH",
    { x: f32(1, 2, 3), y: generate("i32", [3], () => 0) },
    "y",
  ],
  ["no tensor", "MP_INVALID_ARGUMENT", { x: f32(1, 2, 3), y: 1 as unknown as HostTensor }, "y"],
  [
    "too few elements",
    "MP_SHAPE_MISMATCH",
    { x: f32(1, 2, 3), y: { dtype: "f32", shape: [3], data: Float32Array.of(1) } },
    "y",
  ],
];

const runs: readonly ConformanceCase[] = [
  scriptedCase("lifecycle/run/refuses-inputs-that-do-not-fit", adding, async (backend) => {
    await withExecutable(backend, adding, async (executable) => {
      for (const [what, code, inputs, name] of unfit()) {
        const error = await expectCode(code, `run with ${what}`, () => executable.run(inputs));
        expectThat(
          error.message.includes(`"${name}"`),
          `the error for ${what} does not name "${name}": ${error.message}`,
        );
      }
      expectSame(
        (await executable.run({ x: f32(1, 2, 3), y: f32(1, 1, 1) }))["z"],
        f32(2, 3, 4),
        "a run afterwards",
      );
    });
  }),
  scriptedCase("lifecycle/run/gives-copies", doubling, async (backend) => {
    await withExecutable(backend, doubling, async (executable) => {
      const first = await executable.run({ x: f32(1, 2, 3) });
      const second = await executable.run({ x: f32(4, 5, 6) });
      expectSame(first["y"], f32(2, 4, 6), "the first result after a second run");
      second["y"]?.data.fill(9 as never);
      expectSame(
        (await executable.run({ x: f32(1, 1, 1) }))["y"],
        f32(2, 2, 2),
        "a run after a result was written to",
      );
    });
  }),
  scriptedCase("lifecycle/run/leaves-its-inputs-alone", doubling, async (backend) => {
    await withExecutable(backend, doubling, async (executable) => {
      const x = f32(1, 2, 3);
      await executable.run({ x });
      expectSame(x, f32(1, 2, 3), "an input after the run");
    });
  }),
  scriptedCase("lifecycle/run/many-at-once-keep-apart", doubling, async (backend) => {
    await withExecutable(backend, doubling, async (executable) => {
      const results = await Promise.all([1, 2, 3, 4, 5].map((x) => executable.run({ x: f32(x, x, x) })));
      results.forEach((result, index) => {
        const y = 2 * (index + 1);
        expectSame(result["y"], f32(y, y, y), `run ${index} of 5 at once`);
      });
    });
  }),
  scriptedCase("lifecycle/run/a-failed-run-stops-only-itself", doubling, async (backend) => {
    await withExecutable(backend, doubling, async (executable) => {
      const [bad, good] = await Promise.allSettled([executable.run({}), executable.run({ x: f32(1, 2, 3) })]);
      expectEqual(bad.status, "rejected", "a run without its input");
      if (good.status === "fulfilled") expectSame(good.value["y"], f32(2, 4, 6), "the run behind it");
      else throw good.reason;
    });
  }),
];

const odd = buildGraph({
  inputs: {
    "a/b.c": valueType("f32", 2),
    "10": valueType("f32", 2),
    "9": valueType("f32", 2),
    "größe ☃": valueType("f32", 2),
  },
  outputs: (builder, inputs) => ({
    "next/x.y": sum(builder, at(inputs, "a/b.c"), at(inputs, "10")),
    "2": at(inputs, "9"),
    "1": at(inputs, "größe ☃"),
    again: at(inputs, "9"),
  }),
});

const sparse = () =>
  buildGraph({
    inputs: {
      used: valueType("f32", 2),
      unused: valueType("f32", 3),
      empty: valueType("f32", 0, 4),
      half: valueType("i32"),
    },
    outputs: (builder, inputs) => {
      const constant = builder.constant(f32(7, 8));
      return {
        sum: sum(builder, at(inputs, "used"), constant),
        constant,
        nothing: at(inputs, "empty"),
        one: at(inputs, "half"),
      };
    },
  });

const graphs: readonly ConformanceCase[] = [
  scriptedCase("lifecycle/graph/names-are-free", odd, async (backend) => {
    await withExecutable(backend, odd, async (executable) => {
      const inputs = { "a/b.c": f32(1, 2), "10": f32(10, 20), "9": f32(3, 4), "größe ☃": f32(5, 6) };
      const results = await executable.run(inputs);
      expectEqual(Object.keys(results).sort(), ["1", "2", "again", "next/x.y"], "the names of the results");
      expectSame(results["next/x.y"], f32(11, 22), "next/x.y");
      expectSame(results["2"], f32(3, 4), "an input passed through");
      expectSame(results["1"], f32(5, 6), "another");
      expectSame(results["again"], f32(3, 4), "the same value under a second name");
    });
  }),
  scriptedCase("lifecycle/graph/unused-inputs-empty-tensors-and-constants", sparse(), async (backend) => {
    await withExecutable(backend, sparse(), async (executable) => {
      const inputs = {
        used: f32(1, 2),
        unused: f32(0, 0, 0),
        empty: generate("f32", [0, 4], () => 0),
        half: generate("i32", [], () => 5),
      };
      for (let run = 0; run < 2; run++) {
        const results = await executable.run(inputs);
        expectSame(results["sum"], f32(8, 10), "a sum with a constant");
        expectSame(results["constant"], f32(7, 8), "a constant as a result");
        expectSame(results["nothing"], inputs.empty, "an empty tensor passed through");
        expectSame(results["one"], inputs.half, "a scalar passed through");
        results["constant"]?.data.fill(0 as never);
      }
      await expectCode("MP_INVALID_ARGUMENT", "run without an input that no node reads", () =>
        executable.run({ used: f32(1, 2), empty: inputs.empty, half: inputs.half }),
      );
    });
  }),
  scriptedCase("lifecycle/graph/compiles-more-than-once", doubling, async (backend) => {
    await withExecutable(backend, doubling, (first) =>
      withExecutable(backend, doubling, async (second) => {
        expectSame((await first.run({ x: f32(1, 2, 3) }))["y"], f32(2, 4, 6), "the first");
        expectSame((await second.run({ x: f32(4, 5, 6) }))["y"], f32(8, 10, 12), "the second");
        await second.dispose();
        expectSame(
          (await first.run({ x: f32(1, 1, 1) }))["y"],
          f32(2, 2, 2),
          "the first after the second's end",
        );
      }),
    );
  }),
  scriptedCase("lifecycle/graph/deep-chains-run", chain(1000), async (backend) => {
    await withExecutable(backend, chain(1000), async (executable) => {
      expectSame(
        (await executable.run({ x: f32(0, 1, -5) }))["y"],
        f32(1000, 1001, 995),
        "1000 additions of 1",
      );
    });
  }),
];

function chain(depth: number) {
  return buildGraph({
    inputs: { x: valueType("f32", 3) },
    outputs: (builder, inputs) => {
      let y = at(inputs, "x");
      for (let step = 0; step < depth; step++) y = sum(builder, y, builder.literal(1, "f32"));
      return { y };
    },
  });
}

const disposal: readonly ConformanceCase[] = [
  scriptedCase("lifecycle/executable/use-after-dispose", doubling, async (backend) => {
    const executable = await backend.compile(doubling);
    await executable.dispose();
    await expectCode("MP_DISPOSED", "run after dispose", () => executable.run({ x: f32(1, 2, 3) }));
    if (executable.profile !== undefined) {
      await expectCode("MP_DISPOSED", "profile after dispose", () =>
        executable.profile?.({ x: f32(1, 2, 3) }),
      );
    }
  }),
  scriptedCase("lifecycle/executable/dispose-twice-frees-once", doubling, async (backend) => {
    const before = backend.stats();
    const keep = await backend.compile(doubling);
    const kept = backend.stats();
    const executable = await backend.compile(doubling);
    await executable.dispose();
    await Promise.resolve(executable.dispose()).catch(() => undefined);
    expectEqual(backend.stats(), kept, "stats after one executable was disposed twice");
    await keep.dispose();
    expectEqual(backend.stats(), before, "stats after all were disposed");
  }),
  scriptedCase("lifecycle/executable/failed-compilations-leave-nothing", doubling, async (backend) => {
    const before = backend.stats();
    for (let attempt = 0; attempt < 3; attempt++) {
      await expectCode("MP_INVALID_ARGUMENT", "compile with bindings and no state", () =>
        backend.compile(doubling, { bindings: [{ slot: "a", input: "x" }] }),
      );
    }
    expectEqual(backend.stats(), before, "stats after failed compilations");
  }),
];

export const lifecycleCases: readonly ConformanceCase[] = [...handles, ...runs, ...graphs, ...disposal];
