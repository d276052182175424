/** Tests which values a state commits, and when, and that executables can share a state. */
import type { Graph } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { expectEqual } from "../expectations.js";
import { at, buildGraph, f32, flag, sum, valueType } from "../small-graphs.js";
import { expectSame, scriptedCase } from "./kinds/scripted-case.js";
import { read, type Setup, stepping, withState } from "./kinds/with-state.js";
import { expectSlots, stateCase } from "./state-case.js";

/** Whether each step commits. All patterns occur that could confuse two sets of buffers. */
const DECISIONS = [true, false, false, true, true, false, true, false, false, false, true, true];

const committing: readonly ConformanceCase[] = [
  stateCase("state/commit/each-group-at-its-own-time", stepping, async (state, executable) => {
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
  // Reads between the steps could hide a step that used values which an earlier one had not committed.
  stateCase("state/commit/also-when-no-one-looks-in-between", stepping, async (state, executable) => {
    for (const go of DECISIONS) await executable.run({ x: f32(1, 1), go: flag(go) });
    const applied = DECISIONS.filter((go) => go).length;
    expectSame((await state.read())["weight"], f32(applied, 10 + applied), "the weight at the end");
    expectEqual(await read(state, "count"), DECISIONS.length, "the count at the end");
  }),
  stateCase("state/commit/results-leave-out-what-a-slot-takes", stepping, async (_, executable) => {
    const results = await executable.run({ x: f32(1, 1), go: flag(true) });
    expectEqual(Object.keys(results).sort(), ["applied", "seen"], "the names of the results");
    expectEqual(results["applied"]?.data[0], 1, "the flag, which is a result too");
  }),
  stateCase("state/commit/non-finite-values-are-no-reason", stepping, async (state, executable) => {
    // Only the flag in the graph decides.
    await executable.run({ x: f32(Number.NaN, Number.POSITIVE_INFINITY), go: flag(true) });
    expectSame(
      (await state.read())["weight"],
      f32(Number.NaN, Number.POSITIVE_INFINITY),
      "a weight that was applied",
    );
  }),
  stateCase("state/commit/a-skipped-non-finite-step-leaves-no-trace", stepping, async (state, executable) => {
    await executable.run({ x: f32(Number.NaN, Number.NEGATIVE_INFINITY), go: flag(false) });
    expectSame((await state.read())["weight"], f32(0, 10), "a weight that was not");
    await executable.run({ x: f32(1, 1), go: flag(true) });
    expectSame((await state.read())["weight"], f32(1, 11), "the weight a step later");
  }),
];

const swapping = (commit: "always" | "when-applied"): Setup => ({
  graph: buildGraph({
    inputs: { a: valueType("f32", 2), b: valueType("f32", 2), go: valueType("bool") },
    outputs: (_, inputs) => ({ nextA: at(inputs, "b"), nextB: at(inputs, "a"), go: at(inputs, "go") }),
  }),
  bindings: [
    { slot: "a", input: "a", output: "nextA", commit },
    { slot: "b", input: "b", output: "nextB", commit },
  ],
  values: { a: f32(1, 2), b: f32(3, 4) },
  applied: "go",
});

/** Two outputs with one value replace both slots, one of them only when applied, so that the slots diverge. */
const forking = (): Setup => ({
  graph: buildGraph({
    inputs: { a: valueType("f32", 2), b: valueType("f32", 2), go: valueType("bool") },
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
});

/** Each of two outputs replaces two slots, one of them only when applied. */
const sharingOutput = (): Setup => ({
  graph: buildGraph({
    inputs: {
      ...Object.fromEntries(["a", "b", "c", "d"].map((slot) => [slot, valueType("f32", 2)])),
      go: valueType("bool"),
    },
    outputs: (builder, inputs) => ({
      both: sum(builder, at(inputs, "a"), at(inputs, "b")),
      others: sum(builder, at(inputs, "c"), at(inputs, "d")),
      go: at(inputs, "go"),
    }),
  }),
  bindings: [
    { slot: "a", input: "a", output: "both", commit: "when-applied" },
    { slot: "b", input: "b", output: "both", commit: "always" },
    { slot: "c", input: "c", output: "others", commit: "always" },
    { slot: "d", input: "d", output: "others", commit: "when-applied" },
  ],
  values: { a: f32(1, 2), b: f32(10, 20), c: f32(30, 60), d: f32(3, 6) },
  applied: "go",
});

/** One slot feeds two inputs, a constant replaces a second slot, a third one is only read. */
const reading = (): Setup => ({
  graph: buildGraph({
    inputs: {
      first: valueType("f32", 2),
      second: valueType("f32", 2),
      fixed: valueType("f32", 2),
      reset: valueType("f32", 2),
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
});

const wiring: readonly ConformanceCase[] = [
  ...(["always", "when-applied"] as const).map((commit) =>
    stateCase(
      `state/wiring/slots-swap-${commit}`,
      () => swapping(commit),
      async (state, executable) => {
        let slots = { a: f32(1, 2), b: f32(3, 4) };
        for (const go of [true, false, true, true, false, false, true]) {
          await executable.run({ go: flag(go) });
          if (go || commit === "always") slots = { a: slots.b, b: slots.a };
          await expectSlots(state, slots, `after a run that is ${go ? "" : "not "}applied`);
        }
      },
    ),
  ),
  stateCase("state/wiring/one-value-for-two-slots", forking, async (state, executable) => {
    const steps = [true, false, false, true];
    let [a, b] = [1, 10];
    for (const go of steps) {
      const { total } = await executable.run({ go: flag(go) });
      const both = a + b;
      expectSame(total, f32(both, 2 * both), "the value as a result");
      if (go) a = both;
      b = both;
      await expectSlots(state, { a: f32(a, 2 * a), b: f32(b, 2 * b) }, "after a run");
    }
  }),
  stateCase("state/wiring/one-output-for-two-slots", sharingOutput, async (state, executable) => {
    let [a, b] = [1, 10];
    for (const go of DECISIONS) {
      expectEqual(Object.keys(await executable.run({ go: flag(go) })), ["go"], "the names of the results");
      const both = a + b;
      if (go) a = both;
      b = both;
      const slots = { a: f32(a, 2 * a), b: f32(b, 2 * b), c: f32(3 * b, 6 * b), d: f32(3 * a, 6 * a) };
      await expectSlots(state, slots, "after a run");
    }
  }),
  stateCase("state/wiring/reads-constants-and-strangers", reading, async (state, executable) => {
    for (let run = 0; run < 3; run++) {
      const { shown } = await executable.run({});
      expectSame(shown, run === 0 ? f32(100, 200) : f32(105, 206), `what run ${run} shows`);
      await expectSlots(
        state,
        { x: f32(2 ** (run + 1), 2 ** (run + 2)), fixed: f32(100, 200), reset: f32(5, 6), unbound: f32(7) },
        `after run ${run}`,
      );
    }
  }),
];

/** Two executables with one state, as in training and evaluation. */
const sharing: readonly ConformanceCase[] = [
  stateCase("state/sharing/executables-see-each-others-commits", stepping, async (state, train, backend) => {
    const evaluate = await backend.compile(doublingOf(2), {
      state,
      bindings: [{ slot: "weight", input: "x" }],
    });
    const other = await backend.compile(stepping().graph, {
      state,
      bindings: stepping().bindings,
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
    expectSame((await evaluate.run({}))["y"], f32(102, 122), "what evaluation sees after a write and a step");
    await evaluate.dispose();
    await other.dispose();
  }),
  scriptedCase("state/sharing/states-are-apart", stepping().graph, async (backend) => {
    await withState(backend, stepping(), (first, executable) =>
      withState(backend, stepping(), async (second, other) => {
        const runs = [executable.run({ x: f32(1, 1), go: flag(true) })];
        for (const go of [false, true, false]) runs.push(other.run({ x: f32(5, 5), go: flag(go) }));
        runs.push(executable.run({ x: f32(7, 7), go: flag(false) }));
        await Promise.all(runs);
        expectSame((await first.read())["weight"], f32(1, 11), "a state that ran with another");
        expectSame((await second.read())["weight"], f32(5, 15), "another of the same slots");
      }),
    );
  }),
  stateCase("state/sharing/runs-wait-their-turn", stepping, async (state, executable, backend) => {
    const other = await backend.compile(stepping().graph, {
      state,
      bindings: stepping().bindings,
      applied: "applied",
    });
    // Two runs of each executable in a row, because if they alternated, two queues that take turns would look like one.
    const runs = Array.from({ length: 10 }, (_, index) =>
      (index % 4 < 2 ? executable : other).run({ x: f32(1, 1), go: flag(true) }),
    );
    const results = await Promise.all(runs);
    results.forEach((result, index) => {
      expectSame(result["seen"], f32(index, 10 + index), `what run ${index} of 10 at once saw`);
    });
    expectEqual(await read(state, "count"), 10, "the count after 10 runs at once");
    await other.dispose();
  }),
  stateCase("state/sharing/reads-are-never-torn", stepping, async (state, executable) => {
    const running = executable.run({ x: f32(1, 1), go: flag(true) });
    const now = await state.read();
    await running;
    expectEqual(now["weight"]?.data[0], now["count"]?.data[0], "of two slots that grow together, the one");
  }),
];

function doublingOf(length: number): Graph {
  return buildGraph({
    inputs: { x: valueType("f32", length) },
    outputs: (builder, inputs) => ({ y: sum(builder, at(inputs, "x"), at(inputs, "x")) }),
  });
}

export const stateCases: readonly ConformanceCase[] = [...committing, ...wiring, ...sharing];
