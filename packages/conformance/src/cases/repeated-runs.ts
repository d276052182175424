/** Repeated runs. The second run is as right as the first, whatever a backend caches between the two. */
import { DTYPES, type DType, type Executable, type Graph, type HostTensor, type State } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { expectCode, expectEqual, expectThat, fails } from "../expectations.js";
import { fresh } from "../fresh.js";
import { refill } from "../held-data.js";
import { hostData } from "../host-data.js";
import { countUp } from "../samples/op-sample.js";
import { adding, at, buildGraph, doubling, f32, flag, scalar, sum, valueType } from "../small-graphs.js";
import { later, turn } from "./growing.js";
import { profileCase } from "./kinds/profile-case.js";
import { expectSame, scriptedCase, withExecutable } from "./kinds/scripted-case.js";
import { gathering, INSIDE, OUTSIDE, stepping, withState } from "./kinds/with-state.js";
import { expectSlots, stateCase } from "./state-case.js";

const LENGTHS = [1, 5, 1031];

const reversing = (dtype: DType, length: number): Graph =>
  buildGraph({
    inputs: { x: valueType(dtype, length) },
    outputs: (builder, inputs) => ({
      passed: at(inputs, "x"),
      twice: builder.emitOne("Concat", [at(inputs, "x"), at(inputs, "x")], { axis: 0 }),
    }),
  });

/** Contents to alternate: the first, and contents that differ from it everywhere, at the end, or in the middle. */
function contents(dtype: DType, length: number): readonly HostTensor[] {
  const first = countUp(dtype, [length]);
  const changeAt = (place: number): HostTensor => {
    const changed = fresh(first);
    const other = hostData(dtype, [Number(first.data[place]) === 0 ? 1 : 0]);
    changed.data.set(other.data as never, place);
    return changed;
  };
  return [first, countUp(dtype, [length], 3), first, changeAt(length - 1), first, changeAt(length >> 1)];
}

/** Fills one array with the contents, one after another, and feeds it in every possible way. */
const refilled: readonly ConformanceCase[] = DTYPES.map((dtype) =>
  scriptedCase(
    `repeat/${dtype}/one-refilled-array-is-read-again`,
    LENGTHS.map((length) => reversing(dtype, length)),
    async (backend) => {
      for (const length of LENGTHS) {
        await withExecutable(backend, reversing(dtype, length), async (executable) => {
          const x = fresh(countUp(dtype, [length]));
          const inputs = { x };
          const state = await backend.createState({ x });
          for (const [turn, content] of contents(dtype, length).entries()) {
            refill(x, content);
            const say = (what: string): string =>
              `${what} an array of ${length} that has been refilled, turn ${turn},`;
            expectSame((await executable.run(inputs))["passed"], content, say("a run on"));
            // The same array in another tensor object.
            expectSame((await executable.run({ x: { ...x } }))["passed"], content, say("a second run on"));
            const handle = await backend.upload(x);
            expectSame(await backend.download(handle), content, say("an upload of"));
            expectSame(
              (await executable.run({ x: handle }))["passed"],
              content,
              say("a run on the handle of"),
            );
            handle.dispose();
            await state.write(inputs);
            expectSame((await state.read())["x"], content, say("a write of"));
            const second = await backend.createState(inputs);
            expectSame((await second.read())["x"], content, say("a state made of"));
            await second.dispose();
          }
          await state.dispose();
        });
      }
    },
  ),
);

const feeds: readonly ConformanceCase[] = [
  scriptedCase("repeat/handles/take-turns", adding, (backend) =>
    withExecutable(backend, adding, async (executable) => {
      const [one, other] = [await backend.upload(f32(1, 2, 3)), await backend.upload(f32(40, 50, 60))];
      const ways = [
        [one, f32(1, 2, 3)],
        [other, f32(40, 50, 60)],
        [f32(7, 8, 9), f32(7, 8, 9)],
        [one, f32(1, 2, 3)],
        [f32(0, 0, 0), f32(0, 0, 0)],
        [other, f32(40, 50, 60)],
      ] as const;
      for (const [turn, [x, held]] of ways.entries()) {
        const [a, b, c] = held.data as unknown as readonly [number, number, number];
        const said = `${"data" in x ? "an array" : "a handle"} in turn ${turn}, after others in its place,`;
        expectSame(
          (await executable.run({ x, y: f32(1, 1, 1) }))["z"],
          f32(a + 1, b + 1, c + 1),
          `the sum with ${said}`,
        );
        expectSame(
          (await executable.run({ y: x, x: one }))["z"],
          f32(a + 1, b + 2, c + 3),
          `the sum of a handle and ${said}`,
        );
      }
      one.dispose();
      other.dispose();
    }),
  ),
  scriptedCase("repeat/handles/a-new-one-is-not-the-one-that-went", doubling, (backend) =>
    withExecutable(backend, doubling, async (executable) => {
      for (let turn = 0; turn < 6; turn++) {
        const handle = await backend.upload(f32(turn, turn, turn));
        const { y } = await executable.run({ x: handle });
        expectSame(
          y,
          f32(2 * turn, 2 * turn, 2 * turn),
          `a run on handle ${turn}, made after the one before it ended,`,
        );
        handle.dispose();
      }
    }),
  ),
  stateCase("repeat/runs/are-done-each-time", stepping, async (state, executable, backend) => {
    const inputs = { x: await backend.upload(f32(1, 1)), go: await backend.upload(flag(true)) };
    for (let turn = 0; turn < 4; turn++) {
      const { seen } = await executable.run(inputs);
      expectSame(seen, f32(turn, 10 + turn), `what run ${turn} on the same inputs saw`);
    }
    expectSame((await state.read())["count"], scalar(4), "the count after four runs on the same inputs");
    inputs.x.dispose();
    inputs.go.dispose();
  }),
];

/** A graph that only counts runs, and so replaces one of the two slots. */
const counting = () => ({
  graph: buildGraph({
    inputs: { count: valueType("f32") },
    outputs: (builder, inputs) => ({ next: sum(builder, at(inputs, "count"), builder.literal(1, "f32")) }),
  }),
  bindings: [{ slot: "count", input: "count", output: "next" }],
});

const many = gathering(5_000).graph;

const failures: readonly ConformanceCase[] = [
  scriptedCase("repeat/failed-run/leaves-its-handles-as-they-were", many, (backend) =>
    withExecutable(backend, many, async (executable) => {
      const values = countUp("f32", [5_000]);
      const inputs = { ...gathering().values, weight: await backend.upload(values) };
      await fails(executable.run({ ...inputs, ...OUTSIDE() }));
      const { seen } = await executable.run({ ...inputs, ...INSIDE() });
      expectSame(seen, values, "a handle that a failed run was given");
      inputs.weight.dispose();
    }),
  ),
  scriptedCase("repeat/failed-run/commits-nothing-later", [gathering().graph, counting().graph], (backend) =>
    withState(backend, gathering(), async (state, executable) => {
      const counter = await backend.compile(counting().graph, { state, bindings: counting().bindings });
      if (!(await fails(executable.run(OUTSIDE())))) await state.write(gathering().values);
      await counter.run({});
      await expectSlots(state, { weight: f32(1, 2), count: scalar(1) }, "after a failed run and a good one");
      await executable.run(INSIDE());
      await expectSlots(
        state,
        { weight: f32(2, 1), count: scalar(2) },
        "after a failed run and two good ones",
      );
      await counter.dispose();
    }),
  ),
  stateCase("repeat/failed-run/stops-none-of-those-behind-it", gathering, async (state, executable) => {
    const before = later(executable.run(INSIDE()));
    const failing = later(fails(executable.run(OUTSIDE())));
    const behind = [1, 2].map(() => later(executable.run(INSIDE())));
    const read = later(state.read());
    expectSame((await before)["seen"], f32(1, 2), "what the run before a failing one saw");
    const [failed, settled] = [await failing, await Promise.allSettled(behind)];
    const reasons = settled.map((one) => (one.status === "rejected" ? String(one.reason) : "done"));
    expectEqual(reasons, ["done", "done"], "what became of two runs behind a failing one");
    const now = await read;
    // Where the engine did not fail, the weight may have any value.
    if (failed) expectSame(now["weight"], f32(2, 1), "the weight after three good runs and one that failed");
    expectSame(now["count"], scalar(failed ? 3 : 4), "the count after them");
  }),
  scriptedCase("repeat/failed-run/leaves-no-input-behind", adding, (backend) =>
    withExecutable(backend, adding, async (executable) => {
      const held = await backend.upload(f32(5, 5, 5));
      const gone = await backend.upload(f32(6, 6, 6));
      gone.dispose();
      const x = f32(1, 2, 3);
      for (const [turn, y] of [f32(1, 2), generatedInts(), gone, undefined].entries()) {
        refill(x, f32(100, 100, 100));
        const refused = later(executable.run({ x, y } as Parameters<Executable["run"]>[0]));
        const behind = later(executable.run({ x: held, y: f32(1, 1, 1) }));
        await expectCode(
          ["MP_SHAPE_MISMATCH", "MP_DTYPE_MISMATCH", "MP_DISPOSED", "MP_INVALID_ARGUMENT"],
          "a run with an input that does not fit",
          () => refused,
        );
        expectSame((await behind)["z"], f32(6, 6, 6), `the run behind refusal ${turn}`);
        refill(x, f32(turn, turn, turn));
        const { z } = await executable.run({ x, y: f32(1, 2, 3) });
        expectSame(
          z,
          f32(turn + 1, turn + 2, turn + 3),
          `the run after refusal ${turn}, on a refilled array,`,
        );
      }
      held.dispose();
    }),
  ),
  stateCase(
    "repeat/failed-call/leaves-the-next-run-as-it-was",
    stepping,
    async (state, executable, backend) => {
      const { graph, bindings } = stepping();
      const gone = await backend.upload(f32(6, 6));
      gone.dispose();
      const unfit = generatedInts();
      const calls: Readonly<Record<string, () => unknown>> = {
        "a run without inputs": () => executable.run({}),
        "a run with an input of another dtype": () => executable.run({ x: unfit, go: flag(true) }),
        "a run with a disposed handle": () => executable.run({ x: gone, go: flag(true) }),
        "a profiled run without inputs": () =>
          executable.profile?.({}) ?? Promise.reject(new Error("no profiler")),
        "a write to a slot that is not there": () => state.write({ nope: f32(1) }),
        "a write of another dtype": () => state.write({ weight: unfit }),
        "a read of a slot that is not there": () => state.read(["nope"]),
        "a state that cannot be": () => backend.createState({ weight: { ...unfit, shape: [7] } }),
        "a compilation for a slot that is not there": () =>
          backend.compile(graph, { state, bindings: [...bindings, { slot: "nope", input: "x" }] }),
      };
      for (const [at, [what, call]] of Object.entries(calls).entries()) {
        const failed = await Promise.resolve()
          .then(call)
          .then(
            () => false,
            () => true,
          );
        expectThat(failed, `${what} does not fail`);
        const { seen } = await executable.run({ x: f32(1, 1), go: flag(true) });
        expectSame(seen, f32(at, 10 + at), `what a run saw after ${what}`);
        await expectSlots(
          state,
          { weight: f32(at + 1, 11 + at), count: scalar(at + 1) },
          `after ${what} and a good run`,
        );
      }
    },
  ),
];

/** Compares a run's results, inputs and slots again after a turn of the event loop. */
const settled = stateCase(
  "repeat/runs/touch-nothing-once-they-are-done",
  stepping,
  async (state, executable) => {
    const go = flag(true);
    const held: (readonly [string, HostTensor, HostTensor])[] = [];
    for (let run = 0; run < 3; run++) {
      const x = f32(run, 1);
      const [{ seen }, read] = [await executable.run({ x, go }), await state.read(["weight"])];
      const both = { x, seen, weight: read["weight"] };
      for (const [name, tensor] of Object.entries(both))
        if (tensor !== undefined) held.push([`${name} of run ${run}`, tensor, fresh(tensor)]);
      refill(go, flag(false));
      await turn();
      for (const [what, tensor, want] of held)
        expectSame(tensor, want, `${what}, a turn of the event loop later,`);
      refill(go, flag(true));
    }
    await expectSlots(state, { weight: f32(3, 13), count: scalar(3) }, "after three applied runs");
  },
);

function generatedInts(): HostTensor {
  return hostData("i32", [1, 2, 3]);
}

const steps = [true, true, false, true, false, false, true];

/** Alternates normal and profiled steps and checks the state after each. */
async function stepBoth(state: State, executable: Executable): Promise<void> {
  let weight = 0;
  for (const [step, go] of steps.entries()) {
    const isProfiled = step % 2 === 1;
    const inputs = { x: f32(1, 1), go: flag(go) };
    if (isProfiled) await executable.profile?.(inputs);
    else {
      const { seen } = await executable.run(inputs);
      expectSame(seen, f32(weight, 10 + weight), `what step ${step} saw, behind a profiled one,`);
    }
    if (go) weight += 1;
    const what = `${isProfiled ? "profiled " : ""}step ${step}, ${go ? "applied" : "skipped"}`;
    await expectSlots(state, { weight: f32(weight, 10 + weight), count: scalar(step + 1) }, `after ${what},`);
  }
}

const profiles: readonly ConformanceCase[] = [
  profileCase("repeat/profile/commits-as-a-run-does", stepping().graph, (backend) =>
    withState(backend, stepping(), stepBoth),
  ),
  profileCase("repeat/profile/leaves-the-next-run-as-it-was", adding, (backend) =>
    withExecutable(backend, adding, async (executable) => {
      for (let turn = 1; turn <= 3; turn++) {
        await executable.profile?.({ x: f32(100, 100, 100), y: f32(turn, turn, turn) });
        const { z } = await executable.run({ x: f32(turn, turn, turn), y: f32(1, 1, 1) });
        expectSame(z, f32(turn + 1, turn + 1, turn + 1), `a run after profile ${turn} on other inputs`);
      }
    }),
  ),
];

export const repeatedRunCases: readonly ConformanceCase[] = [
  ...refilled,
  ...feeds,
  ...failures,
  settled,
  ...profiles,
];
