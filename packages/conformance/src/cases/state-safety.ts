/** Tests that refusals and failures do not change a state, how states are disposed of, and that they keep every bit. */
import { type CompileOptions, type DType, type Graph, type HostTensor, isComputeFloat } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { expectCode, expectEqual, fails } from "../expectations.js";
import { generate, hostData, specialValues } from "../host-data.js";
import { at, buildGraph, doubling, f32, flag, scalar, valueType } from "../small-graphs.js";
import { expectSame, scriptedCase } from "./kinds/scripted-case.js";
import {
  gathering,
  INSIDE,
  OUTSIDE,
  read,
  type Setup,
  stepping,
  type Values,
  withState,
} from "./kinds/with-state.js";
import { expectSlots, stateCase } from "./state-case.js";

const failures: readonly ConformanceCase[] = [
  stateCase("state/failure/a-refused-run-changes-nothing", stepping, async (state, executable) => {
    await expectCode("MP_SHAPE_MISMATCH", "run with a wrong shape", () =>
      executable.run({ x: f32(1), go: flag(true) }),
    );
    await expectCode("MP_INVALID_ARGUMENT", "run that feeds what the state feeds", () =>
      executable.run({ x: f32(1, 1), go: flag(true), weight: f32(9, 9) }),
    );
    await expectSlots(state, { weight: f32(0, 10), count: scalar(0) }, "after refused runs");
  }),
  // An engine that does not check may read arbitrary memory; one that fails must not have committed half of the step.
  stateCase("state/failure/a-failed-run-changes-nothing", gathering, async (state, executable) => {
    const { drawn } = await executable.run(INSIDE());
    await state.write(gathering().values);
    for (let run = 0; run < 70; run++)
      if (await fails(executable.run(OUTSIDE())))
        await expectSlots(state, gathering().values, "after a failed run");
      else await state.write(gathering().values);
    expectSame(
      (await executable.run(INSIDE()))["drawn"],
      drawn as HostTensor,
      "bits drawn after failed runs",
    );
    expectSame((await state.read())["weight"], f32(2, 1), "the weight after a good run");
  }),
  stateCase("state/failure/a-refused-write-changes-nothing", stepping, async (state) => {
    const wrong: readonly (readonly [
      "MP_SHAPE_MISMATCH" | "MP_DTYPE_MISMATCH" | "MP_INVALID_ARGUMENT",
      Values,
    ])[] = [
      ["MP_SHAPE_MISMATCH", { count: scalar(5), weight: f32(1, 2, 3) }],
      ["MP_DTYPE_MISMATCH", { count: scalar(5), weight: generate("i32", [2], () => 0) }],
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
];

type Code = "MP_SHAPE_MISMATCH" | "MP_DTYPE_MISMATCH" | "MP_INVALID_ARGUMENT";

const y = { slot: "a", input: "x", output: "y" } as const;

/** Invalid bindings of `doubling` to a slot `a`. */
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

/** Returns its i32 input. */
const integers: Graph = buildGraph({
  inputs: { x: valueType("i32", 3) },
  outputs: (_, inputs) => ({ y: at(inputs, "x") }),
});

const lives: readonly ConformanceCase[] = [
  scriptedCase("state/bindings/are-checked", [doubling, integers], async (backend) => {
    const values = { a: f32(1, 2, 3), b: f32(1, 2, 3), short: f32(1), whole: generate("i32", [3], () => 0) };
    const state = await backend.createState(values);
    for (const [what, code, options] of badBindings) {
      await expectCode(code, `compile with ${what}`, () => backend.compile(doubling, { state, ...options }));
    }
    await state.dispose();
  }),
  scriptedCase("state/dispose/use-afterwards", stepping().graph, async (backend) => {
    const state = await backend.createState(stepping().values);
    const executable = await backend.compile(stepping().graph, {
      state,
      bindings: stepping().bindings,
      applied: "applied",
    });
    await state.dispose();
    await expectCode("MP_DISPOSED", "state.read after dispose", () => state.read());
    await expectCode("MP_DISPOSED", "state.write after dispose", () => state.write({ count: scalar(1) }));
    await expectCode("MP_DISPOSED", "run on a disposed state", () =>
      executable.run({ x: f32(1, 1), go: flag(true) }),
    );
    await expectCode("MP_DISPOSED", "compile for a disposed state", () =>
      backend.compile(stepping().graph, { state, bindings: stepping().bindings, applied: "applied" }),
    );
    await executable.dispose();
  }),
  scriptedCase("state/dispose/outlives-its-executables", stepping().graph, async (backend) => {
    const state = await backend.createState(stepping().values);
    for (let round = 0; round < 3; round++) {
      const executable = await backend.compile(stepping().graph, {
        state,
        bindings: stepping().bindings,
        applied: "applied",
      });
      await executable.run({ x: f32(1, 1), go: flag(true) });
      await executable.dispose();
    }
    expectSame((await state.read())["weight"], f32(3, 13), "the weight after three executables");
    await state.dispose();
  }),
  scriptedCase("state/names/are-free", stepping().graph, async (backend) => {
    const values = {
      "master/0/w": f32(1),
      "10": f32(2),
      "9": f32(3),
      "ü ☃": f32(4),
      empty: generate("f32", [0, 3], () => 0),
    };
    const state = await backend.createState(values);
    const now = await state.read();
    expectEqual(Object.keys(now).sort(), Object.keys(values).sort(), "the names of the slots");
    for (const [name, value] of Object.entries(values)) expectSame(now[name], value, `slot ${name}`);
    await state.dispose();
  }),
];

/** A slot keeps its bits through skipped steps and when it is passed on, in each dtype. */
const keeping: readonly ConformanceCase[] = (["f32", "f16", "bf16", "i32", "i64", "u8", "bool"] as const).map(
  (dtype) => {
    const value = valuesOf(dtype);
    const graph = buildGraph({
      inputs: {
        kept: valueType(dtype, ...value.shape),
        passed: valueType(dtype, ...value.shape),
        go: valueType("bool"),
        fed: valueType(dtype, ...value.shape),
      },
      outputs: (_, inputs) => ({
        fed: at(inputs, "fed"),
        passed: at(inputs, "passed"),
        go: at(inputs, "go"),
      }),
    });
    const setup = (): Setup => ({
      graph,
      bindings: [
        { slot: "kept", input: "kept", output: "fed", commit: "when-applied" },
        { slot: "passed", input: "passed", output: "passed", commit: "always" },
      ],
      values: { kept: valuesOf(dtype), passed: valuesOf(dtype) },
      applied: "go",
    });
    return scriptedCase(`state/${dtype}/keeps-its-bits`, graph, (backend) =>
      withState(backend, setup(), async (state, executable) => {
        const zeros = (): HostTensor => generate(dtype, value.shape, () => 0);
        for (let step = 0; step < 3; step++) await executable.run({ go: flag(false), fed: zeros() });
        await expectSlots(state, { kept: value, passed: value }, "after skipped steps");
        await executable.run({ go: flag(true), fed: zeros() });
        expectSame((await state.read())["kept"], zeros(), `a ${dtype} slot after an applied step`);
      }),
    );
  },
);

function valuesOf(dtype: DType): HostTensor {
  if (isComputeFloat(dtype)) return hostData(dtype, specialValues(dtype));
  return hostData(dtype, dtype === "bool" ? [1, 0, 1] : [1, 0, 100, 7]);
}

export const stateSafetyCases: readonly ConformanceCase[] = [...failures, ...lives, ...keeping];
