/** The thousandth run is as right as the first, whatever an engine has counted, reused or rewritten by then. */
import { type Executable, type Graph, type HostTensor, type RunInput, type State, tensor } from "@mp/graph";
import type { CaseContext, ConformanceCase } from "../../conformance-case.js";
import { expectCode, expectEqual, expectThat } from "../../expectations.js";
import type { RandomSource } from "../../random-source.js";
import { at, buildGraph, f32, flag, scalar, sum, valueType } from "../../small-graphs.js";
import type { Tensors } from "../kinds/graph-case.js";
import { profileCase } from "../kinds/profile-case.js";
import { expectSame, scriptedCase, withExecutable } from "../kinds/scripted-case.js";
import { type Setup, withState } from "../kinds/with-state.js";

/** More than 2^10, at which a counter of ten bits starts again. */
const RUNS = 1_030;
const SIZE = 5;
/** Number of runs after which an engine with two sets of buffers has allocated both. */
const SETTLED = 20;

/** doubled = x + x; moved = x + y. */
const plain: Graph = buildGraph({
  inputs: { x: valueType("f32", SIZE), y: valueType("f32", SIZE) },
  outputs: (builder, inputs) => ({
    doubled: sum(builder, at(inputs, "x"), at(inputs, "x")),
    moved: sum(builder, at(inputs, "x"), at(inputs, "y")),
    passed: at(inputs, "y"),
  }),
});

const whole = (random: RandomSource): HostTensor<"f32"> =>
  f32(...Array.from({ length: SIZE }, () => random.integer(-500, 500)));

const addTensors = (a: HostTensor, b: HostTensor): HostTensor<"f32"> =>
  tensor((a.data as Float32Array).map((x, place) => x + (b.data[place] as number)));

const plainly = (x: HostTensor, y: HostTensor): Tensors => ({
  doubled: addTensors(x, x),
  moved: addTensors(x, y),
  passed: y,
});

function expectAll(got: Tensors, want: Tensors, when: string): void {
  for (const [name, value] of Object.entries(want)) expectSame(got[name], value, `${name} of ${when},`);
}

/** Adds inputs to weight and total, to the weight only when applied; passes `kept` on and counts runs. */
const growing = (): Setup => ({
  graph: buildGraph({
    inputs: {
      weight: valueType("f32", SIZE),
      total: valueType("f32", SIZE),
      count: valueType("f32"),
      kept: valueType("f32", SIZE),
      x: valueType("f32", SIZE),
      go: valueType("bool"),
    },
    outputs: (builder, inputs) => ({
      nextWeight: sum(builder, at(inputs, "weight"), at(inputs, "x")),
      nextTotal: sum(builder, at(inputs, "total"), at(inputs, "x")),
      nextCount: sum(builder, at(inputs, "count"), builder.literal(1, "f32")),
      seen: sum(builder, at(inputs, "weight"), at(inputs, "total")),
      kept: at(inputs, "kept"),
      go: at(inputs, "go"),
    }),
  }),
  bindings: [
    { slot: "weight", input: "weight", output: "nextWeight", commit: "when-applied" },
    { slot: "total", input: "total", output: "nextTotal" },
    { slot: "count", input: "count", output: "nextCount" },
    { slot: "kept", input: "kept", output: "kept" },
  ],
  values: {
    weight: f32(1, 2, 3, 4, 5),
    total: f32(0, 0, 0, 0, 0),
    count: scalar(0),
    kept: f32(9, 8, 7, 6, 5),
  },
  applied: "go",
});

interface Model {
  values: Record<string, HostTensor>;
  step(x: HostTensor, go: boolean): Tensors;
}

function createModel({ values }: Setup): Model {
  const model: Model = {
    values: { ...values },
    step: (x, go) => {
      const { weight, total, count } = model.values as Record<"weight" | "total" | "count", HostTensor>;
      const seen = addTensors(weight, total);
      model.values = {
        ...model.values,
        weight: go ? addTensors(weight, x) : weight,
        total: addTensors(total, x),
        count: scalar(Number(count.data[0]) + 1),
      };
      return { seen, go: flag(go) };
    },
  };
  return model;
}

const expectState = async (state: State, { values }: Model, when: string): Promise<void> =>
  expectAll(await state.read(), values, `the state after ${when}`);

/** Small whole numbers, so that sums stay exact in f32. */
const step = (random: RandomSource): HostTensor<"f32"> =>
  f32(...Array.from({ length: SIZE }, () => random.integer(-9, 9)));

const saying =
  ({ seed }: Pick<CaseContext, "seed">) =>
  (run: number, how = ""): string =>
    `run ${run + 1} ${how}of one executable (seed ${seed})`;

const alone = scriptedCase("many-runs/plain/each-as-the-first", plain, (backend, context) =>
  withExecutable(backend, plain, async (executable) => {
    const { random } = context;
    const say = saying(context);
    const kept: (readonly [Tensors, Tensors])[] = [];
    await executable.run({ x: whole(random), y: whole(random) });
    const before = backend.stats();
    for (let run = 1; run < RUNS; run++) {
      const [x, y] = [whole(random), whole(random)];
      const [want, got] = [plainly(x, y), await executable.run({ x, y })];
      expectAll(got, want, say(run));
      expectEqual(backend.stats(), before, `what is held after ${say(run)}`);
      kept.push([got, want]);
    }
    for (const [run, [got, want]] of kept.entries())
      expectAll(got, want, `${say(run + 1)}, after all of them`);
  }),
);

const stateful = scriptedCase(
  "many-runs/state/each-as-the-first",
  growing().graph,
  async (backend, context) => {
    const { random } = context;
    const say = saying(context);
    const model = createModel(growing());
    await withState(backend, growing(), async (state, executable) => {
      const { live } = backend.stats();
      let most = 0;
      for (let run = 0; run < RUNS; run++) {
        const [x, go] = [step(random), random.integer(0, 2) > 0];
        expectAll(await executable.run({ x, go: flag(go) }), model.step(x, go), say(run));
        await expectState(state, model, say(run));
        const held = backend.stats();
        expectEqual(held.live, live, `live things after ${say(run)}`);
        if (run < SETTLED) most = Math.max(most, held.bytes);
        expectThat(
          held.bytes <= most,
          () => `after ${say(run)} ${held.bytes} bytes are held, at first up to ${most}`,
        );
      }
    });
  },
);

/** Runs that are not awaited one by one, with reads of the state in between. */
const queued = scriptedCase("many-runs/state/twenty-at-a-time", growing().graph, async (backend, context) => {
  const { random } = context;
  const say = saying(context);
  const model = createModel(growing());
  await withState(backend, growing(), async (state, executable) => {
    for (let start = 0; start < RUNS; start += 20) {
      const calls = Array.from({ length: 20 }, (_, place) => {
        const [x, go] = [step(random), random.integer(0, 2) > 0];
        const got = executable.run({ x, go: flag(go) });
        const want = model.step(x, go);
        const values = place % 5 === 4 ? { ...model.values } : undefined;
        return { got, want, values, read: values && state.read() };
      });
      for (const [place, { got, want, values, read }] of calls.entries()) {
        expectAll(await got, want, say(start + place, "in a queue "));
        if (values !== undefined) expectAll((await read) ?? {}, values, `a read after ${say(start + place)}`);
      }
    }
  });
});

const handles = scriptedCase("many-runs/handles/that-come-and-go", plain, (backend, context) =>
  withExecutable(backend, plain, async (executable) => {
    const { random } = context;
    const say = saying(context);
    const fixed = whole(random);
    const stays = await backend.upload(fixed);
    const before = backend.stats();
    for (let run = 0; run < RUNS; run++) {
      const value = whole(random);
      const handle = await backend.upload(value);
      const isSecond = run % 2 === 1;
      const inputs = isSecond ? { x: stays, y: handle } : { x: handle, y: stays };
      const want = isSecond ? plainly(fixed, value) : plainly(value, fixed);
      expectAll(await executable.run(inputs), want, say(run, "on handles "));
      expectSame(
        await backend.download(handle),
        value,
        `upload ${run + 1}, downloaded, (seed ${context.seed})`,
      );
      handle.dispose();
      expectEqual(backend.stats(), before, `what is held after ${say(run, "on handles ")}`);
    }
    expectSame(await backend.download(stays), fixed, `a handle after ${RUNS} runs on it`);
    stays.dispose();
  }),
);

const written = scriptedCase(
  "many-runs/state/writes-and-reads",
  growing().graph,
  async (backend, { random, seed }) => {
    const state = await backend.createState({ a: whole(random), b: whole(random) });
    const held: Record<string, HostTensor> = { ...(await state.read()) };
    for (let round = 0; round < RUNS; round++) {
      const slot = random.integer(0, 1) === 0 ? "a" : "b";
      const value = whole(random);
      await state.write({ [slot]: value });
      held[slot] = value;
      expectAll(await state.read(), held, `the state after write ${round + 1} (seed ${seed})`);
    }
    await state.dispose();
  },
);

/** Good runs with refused and failed ones in between. */
const failing = scriptedCase(
  "many-runs/state/with-refused-runs-between",
  growing().graph,
  async (backend, context) => {
    const { random } = context;
    const say = saying(context);
    const model = createModel(growing());
    await withState(backend, growing(), async (state, executable) => {
      const bad: readonly Readonly<Record<string, RunInput>>[] = [
        { x: f32(1), go: flag(true) },
        { x: step(random) },
        { x: step(random), go: scalar(1) },
      ];
      for (let run = 0; run < RUNS; run++) {
        if (random.integer(0, 3) === 0)
          await expectCode(
            ["MP_SHAPE_MISMATCH", "MP_INVALID_ARGUMENT", "MP_DTYPE_MISMATCH"],
            `a run on bad inputs before ${say(run)}`,
            () => executable.run(bad[run % bad.length] ?? {}),
          );
        const [x, go] = [step(random), random.integer(0, 1) === 1];
        expectAll(
          await executable.run({ x, go: flag(go) }),
          model.step(x, go),
          say(run, "with refused ones between "),
        );
      }
      await expectState(state, model, `${RUNS} runs with refused ones between`);
    });
  },
);

/** Two executables take turns on one state. */
const shared = scriptedCase(
  "many-runs/state/of-two-executables",
  growing().graph,
  async (backend, context) => {
    const { random } = context;
    const say = saying(context);
    const setup = growing();
    const model = createModel(setup);
    await withState(backend, setup, async (state, first) => {
      const { graph, bindings } = setup;
      await withExecutable(
        backend,
        graph,
        async (second) => {
          for (let run = 0; run < RUNS; run++) {
            const [x, go] = [step(random), random.integer(0, 2) > 0];
            const executable: Executable = random.integer(0, 1) === 0 ? first : second;
            expectAll(await executable.run({ x, go: flag(go) }), model.step(x, go), say(run, "or another "));
          }
        },
        { state, bindings, applied: "go" },
      );
      await expectState(state, model, `${RUNS} runs of two executables`);
    });
  },
);

const PROFILED = 120;

const profiled = profileCase("many-runs/profile/between-runs", growing().graph, async (backend, context) => {
  const { random } = context;
  const say = saying(context);
  const model = createModel(growing());
  await withState(backend, growing(), async (state, executable) => {
    for (let run = 0; run < PROFILED; run++) {
      const [x, go] = [step(random), random.integer(0, 1) === 1];
      const inputs = { x, go: flag(go) };
      const want = model.step(x, go);
      if (run % 2 === 0) {
        const rows = await executable.profile?.(inputs);
        expectThat((rows?.length ?? 0) > 0, `${say(run, "profiled ")} has no rows`);
      } else expectAll(await executable.run(inputs), want, say(run, "after a profiled one "));
      await expectState(state, model, say(run, "profiled or not "));
    }
  });
});

const LIVES = 40;

/** An ended program or state must leave nothing behind for the next one. */
const lives = scriptedCase(
  "many-runs/lives/of-executables-and-states",
  growing().graph,
  async (backend, context) => {
    const { random } = context;
    const before = backend.stats();
    for (let life = 0; life < LIVES; life++) {
      const setup: Setup = { ...growing(), values: { ...growing().values, weight: whole(random) } };
      const model = createModel(setup);
      await withState(backend, setup, async (state, executable) => {
        for (let run = 0; run < 2; run++) {
          const x = step(random);
          const when = `run ${run} of executable ${life + 1} (seed ${context.seed})`;
          expectAll(await executable.run({ x, go: flag(run === 0) }), model.step(x, run === 0), when);
          await expectState(state, model, when);
        }
      });
      expectEqual(backend.stats(), before, `what is held after the end of state ${life + 1}`);
    }
  },
);

export const manyRunCases: readonly ConformanceCase[] = [
  alone,
  stateful,
  queued,
  handles,
  written,
  failing,
  shared,
  profiled,
  lives,
];
