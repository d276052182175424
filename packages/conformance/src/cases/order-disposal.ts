/** Disposal waits for earlier calls, whichever object is disposed of and however often. */
import { type Backend, type HostTensor, MpError, type State } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { expectCode, expectEqual, expectThat } from "../expectations.js";
import { at, buildGraph, f32, sum, valueType } from "../small-graphs.js";
import {
  allAt,
  another,
  by,
  expectRead,
  expectSeen,
  growing,
  later,
  level,
  levelOfAll,
  turn,
} from "./growing.js";
import { expectSame, scriptedCase } from "./kinds/scripted-case.js";

/** y = x + (1, 2, 3). The constant must live as long as a run may need it. */
const shifting = () =>
  buildGraph({
    inputs: { x: valueType("f32", 3) },
    outputs: (builder, inputs) => ({ y: sum(builder, at(inputs, "x"), builder.constant(f32(1, 2, 3))) }),
  });

type Results = Readonly<Record<string, HostTensor>>;

/** Promises, with the number of them that have settled. */
class Watched<T> {
  readonly promises: readonly Promise<T>[];
  ended = 0;

  constructor(promises: readonly Promise<T>[]) {
    this.promises = promises;
    const count = (): void => void this.ended++;
    for (const promise of promises) promise.then(count, count);
  }
}

/** @throws unless all calls that a disposal had to await have ended one turn of the event loop later */
async function expectEnded(watched: Watched<unknown>, what: string): Promise<void> {
  await turn();
  const { length } = watched.promises;
  expectEqual(watched.ended, length, `of ${length} calls before ${what}, those that had ended when it had`);
}

const threeRuns = (run: (value: number) => Promise<Results>): Watched<Results> =>
  new Watched([1, 2, 3].map((value) => run(value)));

async function expectShifted(running: Watched<Results>, what: string): Promise<void> {
  for (const [index, { y }] of (await Promise.all(running.promises)).entries())
    expectSame(y, f32(index + 2, index + 3, index + 4), `run ${index} of three, ${what},`);
}

const expectInTurn = (running: Watched<Results>, what: string): Promise<void> =>
  expectSeen(running.promises, [0, 1, 2], `what three runs saw, ${what}`);

const executables: readonly ConformanceCase[] = [
  scriptedCase("order/dispose/an-executable-waits-for-its-runs", shifting(), async (backend) => {
    const before = backend.stats();
    const executable = await backend.compile(shifting());
    const running = threeRuns((x) => later(executable.run({ x: f32(x, x, x) })));
    const gone = later(executable.dispose());
    const late = later(
      expectCode("MP_DISPOSED", "run after a disposal that is under way", () =>
        executable.run({ x: f32(0, 0, 0) }),
      ),
    );
    await gone;
    await expectEnded(running, "the disposal of their executable");
    await expectShifted(running, "whose executable was disposed behind them");
    await late;
    expectEqual(backend.stats(), before, "stats after the disposal");
  }),
  scriptedCase(
    "order/dispose/an-executable-of-a-state-waits-for-its-runs",
    growing().graph,
    async (backend) => {
      const state = await backend.createState(allAt(0));
      const [executable, other] = [await another(backend, state), await another(backend, state)];
      const running = threeRuns(() => later(executable.run(by(1))));
      const gone = later(executable.dispose());
      const behind = later(other.run(by(1)));
      await gone;
      await expectEnded(running, "the disposal of their executable");
      await expectInTurn(running, "whose executable was disposed behind them");
      await expectSeen([behind], [3], "what the run of another executable saw behind them");
      await expectRead(state.read(), 4, "the state after four runs, a disposal between them");
      await other.dispose();
      await state.dispose();
    },
  ),
  scriptedCase("order/dispose/one-executable-leaves-anothers-runs-alone", shifting(), async (backend) => {
    const [one, other] = [await backend.compile(shifting()), await backend.compile(shifting())];
    const running = threeRuns((x) => later(other.run({ x: f32(x, x, x) })));
    await one.dispose();
    await expectShifted(running, "while another executable of the same graph was disposed");
    const again = await other.run({ x: f32(5, 5, 5) });
    expectSame(again["y"], f32(6, 7, 8), "a run after another executable of the same graph was disposed");
    await other.dispose();
  }),
];

const states: readonly ConformanceCase[] = [
  scriptedCase("order/dispose/a-state-waits-for-what-was-called", growing().graph, async (backend) => {
    const before = backend.stats();
    const state = await backend.createState(allAt(0));
    const executable = await another(backend, state);
    const running = threeRuns(() => later(executable.run(by(1))));
    const reading = later(state.read());
    const writing = later(state.write(allAt(50)));
    const last = later(state.read());
    const gone = later(state.dispose());
    const late = later(
      expectCode("MP_DISPOSED", "read after a disposal that is under way", () => state.read()),
    );
    await gone;
    await expectEnded(new Watched<unknown>([reading, writing, last]), "the disposal of their state");
    await expectInTurn(running, "whose state was disposed behind them");
    await expectRead(reading, 3, "what was read behind three runs, before the disposal");
    await writing;
    await expectRead(last, 50, "what was read behind a write, before the disposal");
    await late;
    await executable.dispose();
    expectEqual(backend.stats(), before, "stats after the disposals");
  }),
];

type Owned = "executable" | "state";

/** Ways to dispose of a state and its executable, each called twice, during runs. */
const ENDS: Readonly<Record<string, readonly Owned[]>> = {
  "an-executable-twice-at-once": ["executable", "executable"],
  "a-state-twice-at-once": ["state", "state"],
  "an-executable-and-its-state-at-once": ["executable", "state", "executable", "state"],
  "a-state-and-its-executable-at-once": ["state", "executable", "state", "executable"],
};

const twice: readonly ConformanceCase[] = Object.entries(ENDS).map(([name, ends]) =>
  scriptedCase(`order/dispose/${name}`, growing().graph, async (backend) => {
    const before = backend.stats();
    const state = await backend.createState(allAt(0));
    const executable = await another(backend, state);
    const running = threeRuns(() => later(executable.run(by(1))));
    const owned = { executable, state };
    const settled = new Set<number>();
    const first = ends.indexOf(ends.at(-1) as Owned);
    const gone = ends.map((end, call) => later(owned[end].dispose()).then(() => settled.add(call)));
    // The last call settles no earlier than the first of its kind.
    await gone.at(-1);
    expectThat(settled.has(first), "the second of two disposals settles before the first");
    await expectEnded(running, "two disposals");
    await Promise.all(gone);
    await expectInTurn(running, "with disposals called twice behind them");
    for (const each of [executable, state]) await each.dispose();
    expectEqual(backend.stats(), before, "stats after everything was disposed, and once more");
  }),
);

/**
 * Checks a call that was in progress when its backend was disposed of. A backend may give it a right result or
 * MP_DISPOSED, but must settle it.
 */
async function ended<T>(what: string, call: Promise<T>, check: (value: T) => void): Promise<void> {
  let value: T;
  try {
    value = await call;
  } catch (error) {
    expectThat(
      MpError.is(error, "MP_DISPOSED"),
      `${what} fails with ${String(error)}, want MP_DISPOSED or its result`,
    );
    return;
  }
  check(value);
}

async function endBackend(backend: Backend, times: number): Promise<void> {
  const held = await backend.upload(f32(4, 5, 6));
  const state: State = await backend.createState(allAt(0));
  const [shifts, grows] = [await backend.compile(shifting()), await another(backend, state)];
  const shifted = [1, 2, 3].map((x) => later(shifts.run({ x: x === 2 ? held : f32(x, x, x) })));
  const grown = [1, 2, 3].map(() => later(grows.run(by(1))));
  const [reading, downloading] = [later(state.read()), later(backend.download(held))];
  const making: readonly Promise<unknown>[] = [
    backend.upload(f32(1)),
    backend.createState({ a: f32(1) }),
    backend.compile(shifting()),
  ];
  const calls = new Watched<unknown>([...shifted, ...grown, reading, downloading, ...making]);
  const gone = Array.from({ length: times }, () => later(backend.dispose()));
  await gone.at(-1);
  await expectEnded(calls, "the backend's disposal");
  await Promise.all(gone);
  for (const [index, run] of shifted.entries()) {
    const want = index === 1 ? f32(5, 7, 9) : f32(index + 2, index + 3, index + 4);
    await ended("a run under way", run, ({ y }) =>
      expectSame(y, want, `run ${index}, under way when the backend was disposed,`),
    );
  }
  for (const [index, run] of grown.entries()) {
    await ended("a run of a state under way", run, ({ seen }) =>
      expectEqual(
        level(seen, "what a run saw"),
        index,
        `what run ${index}, under way when the backend was disposed, saw`,
      ),
    );
  }
  await ended("a read under way", reading, (values) =>
    expectEqual(levelOfAll(values, "a read"), 3, "what was read while the backend was disposed"),
  );
  await ended("a download under way", downloading, (got) =>
    expectSame(got, f32(4, 5, 6), "a download under way"),
  );
  for (const made of making) await ended("what was being made", made, () => undefined);
  await expectCode("MP_DISPOSED", "run after the backend's end", () =>
    later(shifts.run({ x: f32(0, 0, 0) })),
  );
  await expectCode("MP_DISPOSED", "read after the backend's end", () => state.read());
}

const backends: readonly ConformanceCase[] = [
  scriptedCase(
    "order/dispose/a-backend-waits-for-what-was-called",
    [shifting(), growing().graph],
    async (_, { create }) => endBackend(await create(), 1),
  ),
  scriptedCase(
    "order/dispose/a-backend-twice-at-once",
    [shifting(), growing().graph],
    async (_, { create }) => endBackend(await create(), 2),
  ),
];

export const orderDisposalCases: readonly ConformanceCase[] = [
  ...executables,
  ...states,
  ...twice,
  ...backends,
];
