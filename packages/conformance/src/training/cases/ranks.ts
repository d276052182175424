/** Two ranks, each with half of a batch, make the same steps as one process with the whole batch. */
import {
  adam,
  dynamicLossScale,
  float32,
  type LossFunction,
  type LossScaler,
  mixedBfloat16,
  momentum,
  noLossScaling,
  type Precision,
  type StepResult,
  sgd,
  staticLossScale,
  stochasticRounding,
  type TrainerOptions,
} from "@mp/core";
import { type Backend, foldIn, type HostTensor, tensor } from "@mp/graph";
import { add, mul, randomBernoulli, reduceMean, reduceSum, where } from "@mp/graph/ops";
import type { Tensors } from "../../cases/kinds/graph-case.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import { inProcessRanks } from "../../in-process-ranks.js";
import { perceptron } from "../models.js";
import { exactSgd, type Fed, fill, type NoModel, vector, type WeightsOf } from "../problems.js";
import { scenarioCase } from "../scenario.js";
import { expectSameState, withTrainer } from "../session.js";
import { together } from "../together.js";

interface Played {
  readonly steps: readonly StepResult[];
  readonly state: Tensors;
}

/** Rows of two numbers, whose means and sums are exact in f32. */
type Rows = readonly (readonly [number, number])[];

const rows = (of: Rows): HostTensor<"f32"> => tensor(Float32Array.from(of.flat()), [of.length, 2]);

/** A loss whose gradient is the mean of the rows. */
const meanOfRows: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }) => {
  const products = reduceSum(mul(w, x), { axes: [1] });
  return { loss: reduceMean(products), metrics: { mean: reduceMean(x) } };
};

const HUGE = 2 ** 120;
const BATCHES: readonly Rows[] = [
  [
    [1, 2],
    [3, -1],
    [0.5, 4],
    [-2, 8],
  ],
  [
    [4, 0.5],
    [-1, 1],
    [2, 2],
    [8, -4],
  ],
  [
    [-0.5, 1],
    [1, 0],
    [0, 6],
    [2, -3],
  ],
  [
    [2, 2],
    [1, -8],
    [4, 4],
    [0.5, 1],
  ],
];
/** The batches, except that one row of rank 1 in the second batch overflows at a scale of 2^10 but not at 2^6. */
const OVERFLOWING: readonly Rows[] = BATCHES.map((batch, step) =>
  step === 1 ? [...batch.slice(0, 3), [HUGE, 1]] : batch,
);

type Options = Omit<TrainerOptions<WeightsOf, Fed, NoModel>, "backend" | "params" | "loss">;

/** Compares one process on whole batches with two ranks on half of each batch, in steps of `accumulate` batches. */
function halvesCase(
  behaviour: string,
  options: Options,
  batches: readonly Rows[],
  more?: (whole: Played) => void,
): ConformanceCase {
  const { accumulate = 1 } = options;
  const makeOptions = () => ({ ...options, params: { w: fill([2], 0.25) }, loss: meanOfRows });
  const play =
    (part: (batch: Rows) => Rows) =>
    async ({
      training,
      snapshot,
    }: Parameters<Parameters<typeof withTrainer<WeightsOf, Fed, NoModel, Played>>[2]>[0]) => {
      const steps: StepResult[] = [];
      for (let at = 0; at < batches.length; at += accumulate) {
        const window = batches.slice(at, at + accumulate).map((batch) => ({ x: rows(part(batch)) }));
        steps.push(await training.step(...window));
      }
      return { steps, state: await snapshot() };
    };
  return scenarioCase<{ readonly whole: Played; readonly ranks: readonly Played[] }>(
    `ranks/${behaviour}`,
    async (backend) => ({
      // With a hook, even one that changes nothing, the process has the same update program as the ranks.
      whole: await withTrainer<WeightsOf, Fed, NoModel, Played>(
        backend,
        { ...makeOptions(), allReduce: async (window) => window },
        play((batch) => batch),
      ),
      ranks: await together<WeightsOf, Fed, NoModel, Played>(backend, makeOptions, (session, rank) =>
        play((batch) => batch.slice(2 * rank, 2 * rank + 2))(session),
      ),
    }),
    ({ whole, ranks }) => {
      expectEqual(ranks[1]?.steps, ranks[0]?.steps, "the steps of rank 1 beside those of rank 0");
      for (const [rank, { steps, state }] of ranks.entries()) {
        expectAlike(steps, whole.steps, `rank ${rank}`);
        expectSameState(state, whole.state, `rank ${rank} beside one process`);
      }
      more?.(whole);
    },
  );
}

/** Compares steps; losses may differ slightly, since a whole batch is summed in another order than two halves. */
function expectAlike(got: readonly StepResult[], want: readonly StepResult[], what: string): void {
  const withoutLoss = (steps: readonly StepResult[]) => steps.map(({ loss: _loss, ...rest }) => rest);
  expectEqual(withoutLoss(got), withoutLoss(want), `the steps of ${what} beside those of one process`);
  for (const [at, { loss }] of want.entries()) {
    const other = got[at]?.loss ?? Number.NaN;
    expectThat(
      Object.is(other, loss) || Math.abs(other - loss) <= 1e-5 * Math.max(1, Math.abs(loss)),
      () => `the loss of step ${at} of ${what} is ${other}, and ${loss} in one process`,
    );
  }
}

const withScaler = (lossScaler: LossScaler): Precision => ({ ...float32(), lossScaler });

const halves: readonly ConformanceCase[] = [
  halvesCase("halves/sgd", { optimizer: exactSgd(), precision: float32() }, BATCHES),
  halvesCase("halves/adam", { optimizer: adam({ learningRate: 0.1 }), precision: float32() }, BATCHES),
  halvesCase(
    "halves/clipped-and-averaged",
    {
      optimizer: momentum({ learningRate: 0.5, momentum: 0.5 }),
      precision: float32(),
      clipNorm: 2,
      ema: { decay: 0.5 },
    },
    BATCHES,
  ),
  halvesCase("halves/windows", { optimizer: exactSgd(), precision: float32(), accumulate: 2 }, BATCHES),
  halvesCase(
    "halves/sums-of-windows",
    { optimizer: exactSgd(), precision: float32(), accumulate: 2, accumulation: "sum" },
    BATCHES,
  ),
];

/**
 * Scaling that overflows at first. One back-off ends this, since the mean of half the rows is at most twice that of
 * all.
 */
const FROM_HIGH = { initialScale: 2 ** 10, growthInterval: 2, backoffFactor: 0.25 };

const SCALERS: Readonly<Record<string, LossScaler>> = {
  none: noLossScaling(),
  static: staticLossScale(2 ** 10),
  dynamic: dynamicLossScale(FROM_HIGH),
  hysteresis: dynamicLossScale({ ...FROM_HIGH, hysteresis: 2 }),
};

/** Cases in which rank 1 overflows and rank 0 must react in the same way. */
const overflows: readonly ConformanceCase[] = Object.entries(SCALERS).flatMap(([name, scaler]) =>
  (["skip", "retry"] as const).map((onOverflow) =>
    halvesCase(
      `overflow-of-one/${name}-${onOverflow}`,
      { optimizer: exactSgd(), precision: withScaler(scaler), onOverflow },
      OVERFLOWING,
      ({ steps }) => {
        const [, overflowing] = steps;
        const isApplied = name === "none" || (onOverflow === "retry" && name !== "static");
        expectEqual(overflowing?.applied, isApplied, "whether the step that overflows is applied");
      },
    ),
  ),
);

/** A loss whose weight shows which numbers each rank drew. */
const maskLoss: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }, { key }) =>
  reduceSum(mul(w, where(randomBernoulli(foldIn(key, "mask"), 0.5, x.shape), x, 0)));

const draws: ConformanceCase = scenarioCase<readonly (readonly number[])[]>(
  "ranks/randomness/each-rank-draws-its-own",
  (backend) =>
    together<WeightsOf, Fed, NoModel, readonly number[]>(
      backend,
      () => ({
        params: { w: fill([64], 0) },
        loss: maskLoss,
        optimizer: exactSgd(1),
        precision: float32(),
        seed: 3,
      }),
      async ({ training }) => {
        await training.step({ x: fill([64], -1) });
        return Array.from((await training.parameters()).w.data);
      },
    ),
  ([first, second], [want]) => {
    expectEqual(second, first, "the weights of rank 1 beside those of rank 0");
    expectEqual(first, want, "the weights");
    // A weight is 0.5 where one rank drew true and the other false.
    const shares = [0, 0.5, 1].map((share) => (first ?? []).filter((w) => w === share).length);
    expectThat(
      shares.every((count) => count > 4),
      () => `of 64 masks of two ranks, none, one and both are true ${shares.join(", ")} times`,
    );
  },
);

const stochastic = (): Precision => ({ ...mixedBfloat16(), masterWeights: stochasticRounding() });

function equalCase(behaviour: string, precision: () => Precision): ConformanceCase {
  return scenarioCase<readonly Played[]>(
    `ranks/stay-equal/${behaviour}`,
    (backend) =>
      together(
        backend,
        () => ({
          params: perceptron.params(),
          modelState: perceptron.modelState(),
          loss: perceptron.loss,
          optimizer: sgd({ learningRate: 0.05 }),
          precision: precision(),
          seed: 5,
        }),
        async ({ training, snapshot }, rank) => {
          const steps: StepResult[] = [];
          for (let step = 0; step < 6; step++)
            steps.push(await training.step(perceptron.batch(2 * step + rank) as never));
          return { steps, state: await snapshot() };
        },
      ),
    ([first, second]) => {
      expectEqual(second?.steps, first?.steps, "the steps of rank 1 beside those of rank 0");
      expectSameState(second?.state ?? {}, first?.state ?? {}, "rank 1 beside rank 0");
    },
  );
}

/** A single rank makes the same steps and draws the same numbers as a run without ranks. */
const single: ConformanceCase = scenarioCase<readonly Played[]>(
  "ranks/one/equals-none",
  async (backend: Backend) => {
    const run = (ranks: Pick<TrainerOptions<unknown, unknown, unknown>, "ranks">): Promise<Played> =>
      withTrainer(
        backend,
        {
          params: perceptron.params(),
          modelState: perceptron.modelState(),
          loss: perceptron.loss,
          optimizer: adam({ learningRate: 0.01 }),
          precision: mixedBfloat16(),
          seed: 5,
          ...ranks,
        },
        async ({ training, snapshot }) => {
          const steps: StepResult[] = [];
          for (let step = 0; step < 4; step++)
            steps.push(await training.step(perceptron.batch(step) as never));
          return { steps, state: await snapshot() };
        },
      );
    const [alone] = inProcessRanks(1);
    return [await run({}), await run(alone === undefined ? {} : { ranks: alone })];
  },
  ([none, one]) => {
    expectEqual(one?.steps, none?.steps, "the steps of one rank");
    expectSameState(one?.state ?? {}, none?.state ?? {}, "one rank beside none");
  },
);

type Counting = { readonly seen: HostTensor<"f32"> };

/** A loss with a finite gradient, whose model state becomes infinite if the batch holds an infinity. */
const spoilt: LossFunction<WeightsOf, Fed, Counting> = ({ w }, { x }, { modelState }) => ({
  loss: reduceSum(mul(w, 2)),
  modelState: { seen: add(modelState.seen, reduceSum(x)) },
});

const modelStateOfOne: ConformanceCase = scenarioCase<readonly (readonly unknown[])[]>(
  "ranks/model-state-of-one/skips-on-all",
  (backend) =>
    together<WeightsOf, Fed, Counting, readonly unknown[]>(
      backend,
      () => ({
        params: { w: fill([2], 1) },
        modelState: { seen: vector(0) },
        loss: spoilt,
        optimizer: exactSgd(),
        precision: float32(),
      }),
      async ({ training }, rank) => {
        const applied: boolean[] = [];
        for (const x of [1, rank === 1 ? Number.POSITIVE_INFINITY : 2, 4])
          applied.push((await training.step({ x: vector(x) })).applied);
        const { seen } = await training.modelState();
        return [applied, Array.from((await training.parameters()).w.data), Array.from(seen.data)];
      },
    ),
  (got) => {
    for (const [rank, transcript] of got.entries())
      expectEqual(transcript, [[true, false, true], [0.5, 0.5], [5]], `the steps of rank ${rank}`);
  },
);

export const rankCases: readonly ConformanceCase[] = [
  ...halves,
  ...overflows,
  draws,
  equalCase("float32", float32),
  equalCase("stochastic-rounding", stochastic),
  single,
  modelStateOfOne,
];
