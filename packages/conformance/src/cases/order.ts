/** Calls that are not awaited take effect one after another, in the order in which they were made. */
import type { HostTensor } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { expectEqual } from "../expectations.js";
import { refill } from "../held-data.js";
import { adding, at, buildGraph, doubling, f32, scalar, valueType } from "../small-graphs.js";
import {
  allAt,
  another,
  by,
  expectRead,
  expectSeen,
  growing,
  later,
  level,
  turn,
  withGrowing,
} from "./growing.js";
import { profileCase } from "./kinds/profile-case.js";
import { expectSame, scriptedCase, withExecutable } from "./kinds/scripted-case.js";
import { stateCase } from "./state-case.js";

const reads: readonly ConformanceCase[] = [
  stateCase("order/reads/wait-for-the-runs-before-them", growing, async (state, executable) => {
    const runs = [1, 2, 3].map(() => later(executable.run(by(1))));
    const between = later(state.read());
    const [one, all] = [later(state.read(["c"])), later(state.read())];
    runs.push(later(executable.run(by(1))));
    const last = later(state.read());
    await Promise.all(runs);
    await expectRead(between, 3, "what was read behind three runs");
    expectEqual(level((await one)["c"], "a read"), 3, "what was read of one slot behind three runs");
    await expectRead(all, 3, "what the next read gave");
    await expectRead(last, 4, "what was read behind four runs");
  }),
  stateCase("order/reads/come-before-the-runs-after-them", growing, async (state, executable) => {
    await executable.run(by(1));
    const early = later(state.read());
    const running = [1, 1].map((amount) => later(executable.run(by(amount))));
    await expectRead(early, 1, "what was read before two more runs were called");
    await Promise.all(running);
  }),
  stateCase("order/commits/are-seen-whole", growing, async (state, executable, backend) => {
    const other = await another(backend, state);
    const reading: Promise<void>[] = [];
    let called = 0;
    const look = (): void => {
      const want = called;
      const check = expectRead(state.read(), want, `what was read behind ${want} runs`);
      reading.push(later(check));
    };
    const running = [];
    for (const wait of [0, 0, 1, 0, 2, 3, 0, 0, 1, 0, 4, 0]) {
      const run = (called % 3 === 1 ? other : executable).run(by(1));
      const before = called++;
      const check = expectSeen([run], [before], `what run ${before} saw of the last slot`);
      running.push(later(check));
      look();
      for (let step = 0; step < wait; step++) {
        await Promise.resolve();
        look();
        if (step > 1) await turn();
      }
    }
    await Promise.all(running);
    // A run's promise resolves after its commit.
    look();
    await Promise.all(reading);
    await other.dispose();
  }),
];

const writes: readonly ConformanceCase[] = [
  stateCase("order/writes/wait-for-the-runs-before-them", growing, async (state, executable) => {
    const runs = [1, 2, 3].map(() => later(executable.run(by(1))));
    const writing = later(state.write(allAt(100)));
    runs.push(later(executable.run(by(1))));
    await writing;
    await expectSeen(runs, [0, 1, 2, 100], "what three runs, and one behind a write of 100, saw");
    await expectRead(state.read(), 101, "the state after three runs, a write of 100 and a run");
  }),
  stateCase("order/writes/are-seen-whole", growing, async (state, executable) => {
    const calls: Promise<unknown>[] = [];
    for (const base of [10, 20, 30]) {
      calls.push(later(state.write(allAt(base))));
      const running = later(executable.run(by(1)));
      calls.push(later(expectSeen([running], [base], `what a run saw behind a write of ${base}`)));
      calls.push(later(expectRead(state.read(), base + 1, `the state after a write of ${base} and a run`)));
      if (base === 20) await turn();
    }
    await Promise.all(calls);
  }),
  stateCase("order/writes/take-their-values-when-called", growing, async (state, executable) => {
    const values = allAt(1);
    const running = later(executable.run(by(1)));
    const writing = later(state.write(values));
    for (const value of Object.values(values)) refill(value, f32(7, 7, 7));
    await Promise.all([running, writing]);
    await expectRead(state.read(), 1, "what was written, whose arrays have changed since the call,");
  }),
];

const inputs: readonly ConformanceCase[] = [
  scriptedCase("order/runs/take-their-inputs-when-called", adding, (backend) =>
    withExecutable(backend, adding, async (executable) => {
      const x = f32(0, 0, 0);
      const running = [1, 2, 3, 4].map((value) => {
        refill(x, f32(value, value, value));
        return later(executable.run({ x, y: f32(10, 20, 30) }));
      });
      refill(x, f32(9, 9, 9));
      for (const [index, result] of (await Promise.all(running)).entries()) {
        const value = index + 1;
        expectSame(
          result["z"],
          f32(10 + value, 20 + value, 30 + value),
          `run ${value} of four, whose array has changed since the call,`,
        );
      }
    }),
  ),
  stateCase("order/runs/of-a-state-take-their-inputs-when-called", growing, async (_, executable) => {
    const amount = scalar(0);
    const running = [1, 2, 4, 8].map((value) => {
      refill(amount, scalar(value));
      return later(executable.run({ by: amount }));
    });
    refill(amount, scalar(1000));
    await expectSeen(
      running,
      [0, 1, 3, 7],
      "what runs saw that were fed one array, refilled before each call,",
    );
  }),
];

const compiling: readonly ConformanceCase[] = [
  stateCase("order/compile/leaves-queued-runs-alone", growing, async (state, executable, backend) => {
    const running: Promise<Readonly<Record<string, HostTensor>>>[] = [];
    const call = (of = executable): void => void running.push(later(of.run(by(1))));
    call();
    call();
    const compiling = another(backend, state);
    call();
    const other = await compiling;
    call(other);
    call();
    const more = await another(backend, state);
    call(more);
    call();
    await other.dispose();
    call(more);
    await expectSeen(
      running,
      [0, 1, 2, 3, 4, 5, 6, 7],
      "what runs saw while others were compiled for their state",
    );
    await expectRead(state.read(), 8, "the state after eight runs, compilations between them");
    await more.dispose();
  }),
  scriptedCase("order/compile/leaves-runs-without-a-state-alone", [doubling, adding], (backend) =>
    withExecutable(backend, doubling, async (executable) => {
      const running = [1, 2, 3].map((x) => later(executable.run({ x: f32(x, x, x) })));
      const other = await backend.compile(adding);
      running.push(later(executable.run({ x: f32(4, 4, 4) })));
      const sum = await other.run({ x: f32(1, 1, 1), y: f32(2, 2, 2) });
      expectSame(sum["z"], f32(3, 3, 3), "a run of what was compiled meanwhile");
      for (const [index, { y }] of (await Promise.all(running)).entries())
        expectSame(
          y,
          f32(2 * index + 2, 2 * index + 2, 2 * index + 2),
          `run ${index}, while another graph was compiled,`,
        );
      await other.dispose();
    }),
  ),
];

/** A graph with the inputs and outputs of `adding` that computes something else. */
const multiplying = buildGraph({
  inputs: { x: valueType("f32", 3), y: valueType("f32", 3) },
  outputs: (builder, values) => ({ z: builder.emitOne("Mul", [at(values, "x"), at(values, "y")], {}) }),
});

const apart: readonly ConformanceCase[] = [
  scriptedCase("order/executables/keep-their-runs-apart", [adding, multiplying], (backend) =>
    withExecutable(backend, adding, (adds) =>
      withExecutable(backend, multiplying, (multiplies) =>
        withExecutable(backend, adding, async (addsToo) => {
          const held = await backend.upload(f32(5, 6, 7));
          const calls: Promise<void>[] = [];
          for (let value = 1; value <= 6; value++) {
            const x = f32(value, value + 1, value + 2);
            const check = (z: HostTensor | undefined, want: HostTensor, what: string): void =>
              expectSame(z, want, `${what} ${value}, while other executables run,`);
            calls.push(
              later(
                adds
                  .run({ x, y: f32(10, 10, 10) })
                  .then(({ z }) => check(z, f32(value + 10, value + 11, value + 12), "sum")),
              ),
              later(
                multiplies
                  .run({ x, y: held })
                  .then(({ z }) => check(z, f32(5 * value, 6 * (value + 1), 7 * (value + 2)), "product")),
              ),
              later(
                addsToo
                  .run({ x, y: held })
                  .then(({ z }) => check(z, f32(value + 5, value + 7, value + 9), "sum with a handle")),
              ),
            );
            if (value === 3) await turn();
          }
          await Promise.all(calls);
          held.dispose();
        }),
      ),
    ),
  ),
  stateCase("order/states/keep-their-runs-apart", growing, async (first, executable, backend) => {
    await withGrowing(backend, async (second, other) => {
      const calls: Promise<unknown>[] = [];
      for (let step = 1; step <= 5; step++) {
        calls.push(later(executable.run(by(1))), later(other.run(by(100))));
        calls.push(later(expectRead(first.read(), step, "one of two states that run at once")));
        calls.push(later(expectRead(second.read(), 100 * step, "the other of two states that run at once")));
      }
      await Promise.all(calls);
    });
  }),
  profileCase("order/profiles/wait-their-turn", growing().graph, (backend) =>
    withGrowing(backend, async (state, executable) => {
      const running = [1, 1].map((amount) => later(executable.run(by(amount))));
      const profiling = later(executable.profile?.(by(10)) ?? Promise.resolve([]));
      running.push(later(executable.run(by(1))));
      const read = later(state.read());
      await profiling;
      await expectSeen(running, [0, 1, 12], "what two runs, and one behind a profiled run that adds 10, saw");
      await expectRead(read, 13, "the state after all of them");
    }),
  ),
];

export const orderCases: readonly ConformanceCase[] = [
  ...reads,
  ...writes,
  ...inputs,
  ...compiling,
  ...apart,
];
