/** The state: what commits, when, and what never may. */
import {
  type Backend,
  type CompileOptions,
  type DType,
  type Executable,
  type Graph,
  type HostTensor,
  isComputeFloat,
  MpError,
  type State,
  type StateBinding,
} from "@mp/core";
import type { ConformanceCase } from "../conformance-case.js";
import { expectCode, expectEqual, expectThat } from "../expectations.js";
import { generated, hostData, specialValues } from "../samples/host-data.js";
import { at, doubling, f32, flag, graphOf, scalar, sum, typed } from "../small-graphs.js";
import { expectSame, scriptedCase } from "./scripted-case.js";

type Values = Readonly<Record<string, HostTensor>>;

interface Setup {
  readonly graph: Graph;
  readonly bindings: readonly StateBinding[];
  readonly values: Values;
  readonly applied?: string;
}

/** A state with one executable over it; both are disposed at the end. */
async function withState<R>(
  backend: Backend,
  { graph, bindings, values, applied }: Setup,
  body: (state: State, executable: Executable) => Promise<R>,
): Promise<R> {
  const state = await backend.createState(values);
  try {
    const options: CompileOptions = { state, bindings, ...(applied === undefined ? {} : { applied }) };
    const executable = await backend.compile(graph, options);
    try {
      return await body(state, executable);
    } finally {
      await executable.dispose();
    }
  } finally {
    await state.dispose();
  }
}

const read = async (state: State, name: string): Promise<number> =>
  Number((await state.read([name]))[name]?.data[0]);

/** weight += x when applied; count += 1 always; `seen` is what the run saw of the weight. */
const stepping: Setup = {
  graph: graphOf({
    inputs: { weight: typed("f32", 2), count: typed("f32"), x: typed("f32", 2), go: typed("bool") },
    outputs: (builder, inputs) => ({
      nextWeight: sum(builder, at(inputs, "weight"), at(inputs, "x")),
      nextCount: sum(builder, at(inputs, "count"), builder.literal(1, "f32")),
      applied: at(inputs, "go"),
      seen: at(inputs, "weight"),
    }),
  }),
  bindings: [
    { slot: "weight", input: "weight", output: "nextWeight", commit: "when-applied" },
    { slot: "count", input: "count", output: "nextCount", commit: "always" },
  ],
  values: { weight: f32(0, 10), count: scalar(0) },
  applied: "applied",
};

/** Every pattern of commits that two groups of buffers could get wrong. */
const DECISIONS = [true, false, false, true, true, false, true, false, false, false, true, true];

const committing: readonly ConformanceCase[] = [
  scriptedCase("state/commit/each-group-at-its-own-time", stepping.graph, (backend) =>
    withState(backend, stepping, async (state, executable) => {
      let weight = 0;
      for (const [step, go] of DECISIONS.entries()) {
        const results = await executable.run({ x: f32(1, 1), go: flag(go) });
        expectSame(results["seen"], f32(weight, 10 + weight), `the weight that step ${step} saw`);
        if (go) weight += 1;
        expectEqual(await read(state, "count"), step + 1, `the count after step ${step}`);
        expectSame(
          (await state.read(["weight"]))["weight"],
          f32(weight, 10 + weight),
          `the weight after step ${step}`,
        );
      }
    }),
  ),
  // Reading in between may hide that a step worked on what an earlier one had not committed.
  scriptedCase("state/commit/also-when-no-one-looks-in-between", stepping.graph, (backend) =>
    withState(backend, stepping, async (state, executable) => {
      for (const go of DECISIONS) await executable.run({ x: f32(1, 1), go: flag(go) });
      const applied = DECISIONS.filter((go) => go).length;
      expectSame((await state.read())["weight"], f32(applied, 10 + applied), "the weight at the end");
      expectEqual(await read(state, "count"), DECISIONS.length, "the count at the end");
    }),
  ),
  scriptedCase("state/commit/results-leave-out-what-a-slot-takes", stepping.graph, (backend) =>
    withState(backend, stepping, async (_, executable) => {
      const results = await executable.run({ x: f32(1, 1), go: flag(true) });
      expectEqual(Object.keys(results).sort(), ["applied", "seen"], "the names of the results");
      expectEqual(results["applied"]?.data[0], 1, "the flag, which is a result too");
    }),
  ),
  scriptedCase("state/commit/non-finite-values-are-no-reason", stepping.graph, (backend) =>
    withState(backend, stepping, async (state, executable) => {
      // The graph decides, and it alone.
      await executable.run({ x: f32(Number.NaN, Number.POSITIVE_INFINITY), go: flag(true) });
      expectSame(
        (await state.read())["weight"],
        f32(Number.NaN, Number.POSITIVE_INFINITY),
        "a weight that was applied",
      );
    }),
  ),
  scriptedCase("state/commit/a-skipped-non-finite-step-leaves-no-trace", stepping.graph, (backend) =>
    withState(backend, stepping, async (state, executable) => {
      await executable.run({ x: f32(Number.NaN, Number.NEGATIVE_INFINITY), go: flag(false) });
      expectSame((await state.read())["weight"], f32(0, 10), "a weight that was not");
      await executable.run({ x: f32(1, 1), go: flag(true) });
      expectSame((await state.read())["weight"], f32(1, 11), "the weight a step later");
    }),
  ),
];

const swapping: Setup = {
  graph: graphOf({
    inputs: { a: typed("f32", 2), b: typed("f32", 2) },
    outputs: (_, inputs) => ({ nextA: at(inputs, "b"), nextB: at(inputs, "a") }),
  }),
  bindings: [
    { slot: "a", input: "a", output: "nextA" },
    { slot: "b", input: "b", output: "nextB" },
  ],
  values: { a: f32(1, 2), b: f32(3, 4) },
};

/** Both slots take one value, then go their own ways. */
const forking: Setup = {
  graph: graphOf({
    inputs: { a: typed("f32", 2), b: typed("f32", 2), go: typed("bool") },
    outputs: (builder, inputs) => {
      const both = sum(builder, at(inputs, "a"), at(inputs, "b"));
      return { nextA: both, nextB: both, go: at(inputs, "go"), total: both };
    },
  }),
  bindings: [
    { slot: "a", input: "a", output: "nextA", commit: "when-applied" },
    { slot: "b", input: "b", output: "nextB", commit: "always" },
  ],
  values: { a: f32(1, 2), b: f32(10, 20) },
  applied: "go",
};

/** One slot feeds two inputs, a constant replaces another, a third is only read. */
const reading: Setup = {
  graph: graphOf({
    inputs: {
      first: typed("f32", 2),
      second: typed("f32", 2),
      fixed: typed("f32", 2),
      reset: typed("f32", 2),
    },
    outputs: (builder, inputs) => ({
      next: sum(builder, at(inputs, "first"), at(inputs, "second")),
      constant: builder.constant(f32(5, 6)),
      shown: sum(builder, at(inputs, "fixed"), at(inputs, "reset")),
    }),
  }),
  bindings: [
    { slot: "x", input: "first" },
    { slot: "x", input: "second", output: "next" },
    { slot: "fixed", input: "fixed" },
    { slot: "reset", input: "reset", output: "constant" },
  ],
  values: { x: f32(1, 2), fixed: f32(100, 200), reset: f32(0, 0), unbound: f32(7) },
};

const wiring: readonly ConformanceCase[] = [
  scriptedCase("state/wiring/slots-swap", swapping.graph, (backend) =>
    withState(backend, swapping, async (state, executable) => {
      for (let run = 1; run <= 5; run++) {
        await executable.run({});
        const [a, b] = run % 2 === 1 ? [f32(3, 4), f32(1, 2)] : [f32(1, 2), f32(3, 4)];
        const now = await state.read();
        expectSame(now["a"], a, `a after swap ${run}`);
        expectSame(now["b"], b, `b after swap ${run}`);
      }
    }),
  ),
  scriptedCase("state/wiring/one-value-for-two-slots", forking.graph, (backend) =>
    withState(backend, forking, async (state, executable) => {
      const steps = [true, false, false, true];
      let [a, b] = [1, 10];
      for (const go of steps) {
        const { total } = await executable.run({ go: flag(go) });
        const both = a + b;
        expectSame(total, f32(both, 2 * both), "the value as a result");
        if (go) a = both;
        b = both;
        const now = await state.read();
        expectSame(now["a"], f32(a, 2 * a), "the slot that commits when applied");
        expectSame(now["b"], f32(b, 2 * b), "the slot that always commits");
      }
    }),
  ),
  scriptedCase("state/wiring/reads-constants-and-strangers", reading.graph, (backend) =>
    withState(backend, reading, async (state, executable) => {
      for (let run = 0; run < 3; run++) {
        const { shown } = await executable.run({});
        expectSame(shown, run === 0 ? f32(100, 200) : f32(105, 206), `what run ${run} shows`);
        const now = await state.read();
        expectSame(
          now["x"],
          f32(2 ** (run + 1), 2 ** (run + 2)),
          `a slot read by two inputs, after run ${run}`,
        );
        expectSame(now["fixed"], f32(100, 200), "a slot that is only read");
        expectSame(now["reset"], f32(5, 6), "a slot that takes a constant");
        expectSame(now["unbound"], f32(7), "a slot that no input reads");
      }
    }),
  ),
];

/** Two executables over one state, as training and evaluation are. */
const sharing: readonly ConformanceCase[] = [
  scriptedCase("state/sharing/executables-see-each-others-commits", stepping.graph, (backend) =>
    withState(backend, stepping, async (state, train) => {
      const evaluate = await backend.compile(doublingOf(2), {
        state,
        bindings: [{ slot: "weight", input: "x" }],
      });
      const other = await backend.compile(stepping.graph, {
        state,
        bindings: stepping.bindings,
        applied: "applied",
      });
      let weight = 0;
      for (const [index, go] of DECISIONS.entries()) {
        const executable = index % 3 === 2 ? other : train;
        await executable.run({ x: f32(1, 1), go: flag(go) });
        if (go) weight += 1;
        const { y } = await evaluate.run({});
        expectSame(y, f32(2 * weight, 20 + 2 * weight), `what evaluation sees after step ${index}`);
      }
      await state.write({ weight: f32(50, 60) });
      expectSame((await evaluate.run({}))["y"], f32(100, 120), "what evaluation sees of a write");
      await train.run({ x: f32(1, 1), go: flag(true) });
      expectSame(
        (await evaluate.run({}))["y"],
        f32(102, 122),
        "what evaluation sees after a write and a step",
      );
      await evaluate.dispose();
      await other.dispose();
    }),
  ),
  scriptedCase("state/sharing/states-are-apart", stepping.graph, async (backend) => {
    await withState(backend, stepping, (first, executable) =>
      withState(backend, stepping, async (second) => {
        await executable.run({ x: f32(1, 1), go: flag(true) });
        expectSame((await first.read())["weight"], f32(1, 11), "the state that ran");
        expectSame((await second.read())["weight"], f32(0, 10), "another of the same slots");
      }),
    );
  }),
  scriptedCase("state/sharing/runs-wait-their-turn", stepping.graph, (backend) =>
    withState(backend, stepping, async (state, executable) => {
      const other = await backend.compile(stepping.graph, {
        state,
        bindings: stepping.bindings,
        applied: "applied",
      });
      const runs = Array.from({ length: 10 }, (_, index) =>
        (index % 2 === 0 ? executable : other).run({ x: f32(1, 1), go: flag(true) }),
      );
      const results = await Promise.all(runs);
      results.forEach((result, index) => {
        expectSame(result["seen"], f32(index, 10 + index), `what run ${index} of 10 at once saw`);
      });
      expectEqual(await read(state, "count"), 10, "the count after 10 runs at once");
      await other.dispose();
    }),
  ),
  scriptedCase("state/sharing/reads-are-never-torn", stepping.graph, (backend) =>
    withState(backend, stepping, async (state, executable) => {
      const running = executable.run({ x: f32(1, 1), go: flag(true) });
      const now = await state.read();
      await running;
      expectEqual(now["weight"]?.data[0], now["count"]?.data[0], "of two slots that grow together, the one");
    }),
  ),
];

function doublingOf(length: number): Graph {
  return graphOf({
    inputs: { x: typed("f32", length) },
    outputs: (builder, inputs) => ({ y: sum(builder, at(inputs, "x"), at(inputs, "x")) }),
  });
}

/** Gathers by an index from outside, which may be outside the axis; the slot would be replaced. */
const failing: Setup = {
  graph: graphOf({
    inputs: { weight: typed("f32", 2), count: typed("f32"), index: typed("i32", 2) },
    outputs: (builder, inputs) => ({
      nextCount: sum(builder, at(inputs, "count"), builder.literal(1, "f32")),
      nextWeight: builder.emitOne("Gather", [at(inputs, "weight"), at(inputs, "index")], { axis: 0 }),
    }),
  }),
  bindings: [
    { slot: "weight", input: "weight", output: "nextWeight" },
    { slot: "count", input: "count", output: "nextCount" },
  ],
  values: { weight: f32(1, 2), count: scalar(0) },
};

const failures: readonly ConformanceCase[] = [
  scriptedCase("state/failure/a-refused-run-changes-nothing", stepping.graph, (backend) =>
    withState(backend, stepping, async (state, executable) => {
      await expectCode("MP_SHAPE_MISMATCH", "run with a wrong shape", () =>
        executable.run({ x: f32(1), go: flag(true) }),
      );
      await expectCode("MP_INVALID_ARGUMENT", "run that feeds what the state feeds", () =>
        executable.run({ x: f32(1, 1), go: flag(true), weight: f32(9, 9) }),
      );
      const now = await state.read();
      expectSame(now["weight"], f32(0, 10), "the weight after refused runs");
      expectSame(now["count"], scalar(0), "the count after refused runs");
    }),
  ),
  // An engine that cannot tell may read anything; one that fails must not have committed half.
  scriptedCase("state/failure/a-failed-run-changes-nothing", failing.graph, (backend) =>
    withState(backend, failing, async (state, executable) => {
      let failed = false;
      try {
        await executable.run({ index: hostData("i32", [0, 1_000_000]) });
      } catch (error) {
        failed = true;
        const coded = MpError.is(error, "MP_OUT_OF_RANGE") || MpError.is(error, "MP_BACKEND_FAILED");
        expectThat(
          coded,
          `an index outside its axis fails with ${String(error)}, want MP_OUT_OF_RANGE or MP_BACKEND_FAILED`,
        );
      }
      if (failed) {
        const now = await state.read();
        expectSame(now["weight"], f32(1, 2), "the weight after a failed run");
        expectSame(now["count"], scalar(0), "the count after a failed run");
      } else {
        await state.write(failing.values);
      }
      await executable.run({ index: hostData("i32", [1, 0]) });
      expectSame((await state.read())["weight"], f32(2, 1), "the weight after a good run");
    }),
  ),
  scriptedCase("state/failure/a-refused-write-changes-nothing", stepping.graph, (backend) =>
    withState(backend, stepping, async (state) => {
      const wrong: readonly (readonly [
        "MP_SHAPE_MISMATCH" | "MP_DTYPE_MISMATCH" | "MP_INVALID_ARGUMENT",
        Values,
      ])[] = [
        ["MP_SHAPE_MISMATCH", { count: scalar(5), weight: f32(1, 2, 3) }],
        ["MP_DTYPE_MISMATCH", { count: scalar(5), weight: generated("i32", [2], () => 0) }],
        ["MP_INVALID_ARGUMENT", { count: scalar(5), stranger: f32(1) }],
      ];
      for (const [code, values] of wrong) {
        await expectCode(code, `write of ${Object.keys(values).join(" and ")}`, () => state.write(values));
        expectEqual(await read(state, "count"), 0, "a slot whose neighbour was refused");
      }
      await expectCode("MP_INVALID_ARGUMENT", "read of a slot that is not there", () =>
        state.read(["stranger"]),
      );
    }),
  ),
];

type Code = "MP_SHAPE_MISMATCH" | "MP_DTYPE_MISMATCH" | "MP_INVALID_ARGUMENT";

const y = { slot: "a", input: "x", output: "y" } as const;

/** Bindings of `doubling` to a slot `a` that do not fit. */
const badBindings: readonly (readonly [what: string, code: Code, options: Omit<CompileOptions, "state">])[] =
  [
    ["a slot that is not there", "MP_INVALID_ARGUMENT", { bindings: [{ ...y, slot: "q" }] }],
    ["an input that is not there", "MP_INVALID_ARGUMENT", { bindings: [{ ...y, input: "q" }] }],
    ["an output that is not there", "MP_INVALID_ARGUMENT", { bindings: [{ ...y, output: "q" }] }],
    ["an input bound twice", "MP_INVALID_ARGUMENT", { bindings: [y, { slot: "b", input: "x" }] }],
    [
      "a commit that nothing decides",
      "MP_INVALID_ARGUMENT",
      { bindings: [{ ...y, commit: "when-applied" }] },
    ],
    ["a flag that is not there", "MP_INVALID_ARGUMENT", { bindings: [y], applied: "q" }],
    ["a flag that is no bool", "MP_DTYPE_MISMATCH", { bindings: [y], applied: "y" }],
    ["a slot of another shape", "MP_SHAPE_MISMATCH", { bindings: [{ slot: "short", input: "x" }] }],
    ["a slot of another dtype", "MP_DTYPE_MISMATCH", { bindings: [{ slot: "whole", input: "x" }] }],
  ];

/** i32 passed through. */
const integers: Graph = graphOf({
  inputs: { x: typed("i32", 3) },
  outputs: (_, inputs) => ({ y: at(inputs, "x") }),
});

const lives: readonly ConformanceCase[] = [
  scriptedCase("state/bindings/are-checked", [doubling, integers], async (backend) => {
    const values = { a: f32(1, 2, 3), b: f32(1, 2, 3), short: f32(1), whole: generated("i32", [3], () => 0) };
    const state = await backend.createState(values);
    for (const [what, code, options] of badBindings) {
      await expectCode(code, `compile with ${what}`, () => backend.compile(doubling, { state, ...options }));
    }
    await state.dispose();
  }),
  scriptedCase("state/dispose/use-afterwards", stepping.graph, async (backend) => {
    const state = await backend.createState(stepping.values);
    const executable = await backend.compile(stepping.graph, {
      state,
      bindings: stepping.bindings,
      applied: "applied",
    });
    await state.dispose();
    await expectCode("MP_DISPOSED", "state.read after dispose", () => state.read());
    await expectCode("MP_DISPOSED", "state.write after dispose", () => state.write({ count: scalar(1) }));
    await expectCode("MP_DISPOSED", "run on a disposed state", () =>
      executable.run({ x: f32(1, 1), go: flag(true) }),
    );
    await expectCode("MP_DISPOSED", "compile for a disposed state", () =>
      backend.compile(stepping.graph, { state, bindings: stepping.bindings, applied: "applied" }),
    );
    await executable.dispose();
  }),
  scriptedCase("state/dispose/outlives-its-executables", stepping.graph, async (backend) => {
    const state = await backend.createState(stepping.values);
    for (let round = 0; round < 3; round++) {
      const executable = await backend.compile(stepping.graph, {
        state,
        bindings: stepping.bindings,
        applied: "applied",
      });
      await executable.run({ x: f32(1, 1), go: flag(true) });
      await executable.dispose();
    }
    expectSame((await state.read())["weight"], f32(3, 13), "the weight after three executables");
    await state.dispose();
  }),
  scriptedCase("state/names/are-free", stepping.graph, async (backend) => {
    const values = {
      "master/0/w": f32(1),
      "10": f32(2),
      "9": f32(3),
      "ü ☃": f32(4),
      empty: generated("f32", [0, 3], () => 0),
    };
    const state = await backend.createState(values);
    const now = await state.read();
    expectEqual(Object.keys(now).sort(), Object.keys(values).sort(), "the names of the slots");
    for (const [name, value] of Object.entries(values)) expectSame(now[name], value, `slot ${name}`);
    await state.dispose();
  }),
];

/** A slot of each dtype keeps its bits through skipped steps and through being passed on. */
const keeping: readonly ConformanceCase[] = (["f32", "f16", "bf16", "i32", "i64", "u8", "bool"] as const).map(
  (dtype) => {
    const value = valuesOf(dtype);
    const graph = graphOf({
      inputs: {
        kept: typed(dtype, ...value.shape),
        passed: typed(dtype, ...value.shape),
        go: typed("bool"),
        fed: typed(dtype, ...value.shape),
      },
      outputs: (_, inputs) => ({
        fed: at(inputs, "fed"),
        passed: at(inputs, "passed"),
        go: at(inputs, "go"),
      }),
    });
    const setup: Setup = {
      graph,
      bindings: [
        { slot: "kept", input: "kept", output: "fed", commit: "when-applied" },
        { slot: "passed", input: "passed", output: "passed", commit: "always" },
      ],
      values: { kept: value, passed: value },
      applied: "go",
    };
    return scriptedCase(`state/${dtype}/keeps-its-bits`, graph, (backend) =>
      withState(backend, setup, async (state, executable) => {
        const zeros = generated(dtype, value.shape, () => 0);
        for (let step = 0; step < 3; step++) await executable.run({ go: flag(false), fed: zeros });
        const now = await state.read();
        expectSame(now["kept"], value, `a ${dtype} slot after skipped steps`);
        expectSame(now["passed"], value, `a ${dtype} slot that was passed on`);
        await executable.run({ go: flag(true), fed: zeros });
        expectSame((await state.read())["kept"], zeros, `a ${dtype} slot after an applied step`);
      }),
    );
  },
);

function valuesOf(dtype: DType): HostTensor {
  if (isComputeFloat(dtype)) return hostData(dtype, specialValues(dtype));
  return hostData(dtype, dtype === "bool" ? [1, 0, 1] : [1, 0, 100, 7]);
}

export const stateCases: readonly ConformanceCase[] = [
  ...committing,
  ...wiring,
  ...sharing,
  ...failures,
  ...lives,
  ...keeping,
];
