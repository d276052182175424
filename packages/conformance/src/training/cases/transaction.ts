/** A step is applied completely or not at all. A skipped step may only change the scale and counters. */
import {
  adam,
  dynamicLossScale,
  float32,
  type LossFunction,
  momentum,
  type Optimizer,
  type Precision,
  type StepResult,
  sgd,
  type TrainerOptions,
} from "@mp/core";
import { settable } from "@mp/core/optim";
import type { HostTensor, Tensor } from "@mp/graph";
import { add, mul, reduceSum } from "@mp/graph/ops";
import type { Tensors } from "../../cases/kinds/graph-case.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import { exactSgd, type Fed, fill, linear, type NoModel, vector, type WeightsOf } from "../problems.js";
import { scenarioCase } from "../scenario.js";
import { expectSameState, expectUnmoved, isTransactional, numberIn, withTrainer } from "../session.js";
import { trainerCase } from "../trainer-case.js";

const withScaler = (): Precision => ({
  ...float32(),
  lossScaler: dynamicLossScale({ initialScale: 2 ** 10, growthInterval: 3 }),
});

type Parameters = { readonly a: HostTensor<"f32">; readonly b: readonly HostTensor<"f32">[] };
type Batch = { readonly x: Tensor; readonly y: Tensor };
type Model = { readonly mean: HostTensor<"f32">; readonly seen: HostTensor<"f32"> };

/** A loss of two parameters with gradients x and y, and running statistics of x. */
const tracking: LossFunction<Parameters, Batch, Model> = ({ a, b: [b] }, { x, y }, { modelState }) => ({
  loss: reduceSum(add(mul(a, x), mul(b ?? a, y))),
  modelState: { mean: mul(add(modelState.mean, x), 0.5), seen: add(modelState.seen, 1) },
});

const options = (optimizer: Optimizer): Omit<TrainerOptions<Parameters, Batch, Model>, "backend"> => ({
  params: { a: vector(1, 2, 3), b: [vector(4, 5, 6)] },
  loss: tracking,
  optimizer,
  precision: withScaler(),
  modelState: { mean: fill([3], 0), seen: vector(0, 0, 0) },
});

const good = (turn: number): { x: HostTensor; y: HostTensor } => ({
  x: vector(1, turn, 2),
  y: vector(turn, 1, 0.5),
});

type Poison = () => { readonly x: HostTensor; readonly y: HostTensor };

/** Batches that make a step non-finite; the names say where this first appears. */
const poisons = {
  "a-nan-in-the-data": () => ({ x: vector(1, Number.NaN, 1), y: vector(1, 1, 1) }),
  "an-infinite-loss": () => ({ x: vector(3e38, 3e38, 3e38), y: vector(1, 1, 1) }),
  "one-gradient-among-many": () => ({ x: vector(1, 1, 1), y: vector(1, 2 ** 120, 1) }),
} as const satisfies Readonly<Record<string, Poison>>;

interface Skip {
  readonly before: Tensors;
  readonly after: Tensors;
  readonly step: StepResult;
}

function skipCase(behaviour: string, optimizer: Optimizer, poison: Poison): ConformanceCase {
  return trainerCase<Parameters, Batch, Model, Skip>(
    `skip/${behaviour}`,
    options(optimizer),
    async ({ training, snapshot }) => {
      for (const turn of [1, 2]) await training.step(good(turn));
      const before = await snapshot();
      const step = await training.step(poison());
      return { before, after: await snapshot(), step };
    },
    ({ before, after, step }) => {
      expectEqual(step.applied, false, "whether the step is applied");
      expectUnmoved(after, before, "the skipped step");
      expectEqual(numberIn(after, "iteration") - numberIn(before, "iteration"), 1, "iterations counted");
      expectEqual(numberIn(after, "skipped") - numberIn(before, "skipped"), 1, "skips counted");
      expectEqual(numberIn(after, "consecutiveSkips"), 1, "skips in a row");
      expectEqual(
        numberIn(after, "scaler/scale") / numberIn(before, "scaler/scale"),
        0.5,
        "the scale's change",
      );
      expectThat(numberIn(before, "applied") === 2, "two steps were applied before");
    },
  );
}

const OPTIMIZERS: Readonly<Record<string, () => Optimizer>> = {
  sgd: () => sgd({ learningRate: 0.1 }),
  momentum: () => momentum({ learningRate: 0.1 }),
  adam: () => adam({ learningRate: 0.1 }),
};

const nothingMoves: readonly ConformanceCase[] = [
  ...Object.entries(OPTIMIZERS).map(([name, make]) =>
    skipCase(`${name}/nothing-moves-that-must-not`, make(), poisons["a-nan-in-the-data"]),
  ),
  ...Object.entries(poisons).map(([what, poison]) =>
    skipCase(`cause/${what}`, sgd({ learningRate: 0.1 }), poison),
  ),
];

/** Checks that a run with skipped batches and a run without them end in the same state. */
function forgetsCase(name: string, make: () => Optimizer): ConformanceCase {
  const turns = [1, 2, 3, 4];
  return scenarioCase<readonly [Tensors, Tensors]>(
    `skip/${name}/leaves-no-trace-in-the-steps-after`,
    async (backend) => {
      const run = (poisoned: boolean): Promise<Tensors> =>
        withTrainer<Parameters, Batch, Model, Tensors>(
          backend,
          { ...options(make()), precision: float32() },
          async ({ training, snapshot }) => {
            for (const turn of turns) {
              if (poisoned && turn % 2 === 0) await training.step(poisons["a-nan-in-the-data"]());
              await training.step(good(turn));
            }
            return snapshot();
          },
        );
      return [await run(true), await run(false)];
    },
    ([poisoned, clean]) => {
      const part = (state: Tensors): Tensors =>
        Object.fromEntries(Object.entries(state).filter(([slot]) => isTransactional(slot)));
      expectSameState(part(poisoned), part(clean), "a run with skipped batches beside one without them");
      expectEqual(numberIn(poisoned, "skipped"), 2, "skips of the poisoned run");
    },
  );
}

interface Averaged {
  /** The weight, its average and the rate of the next step, after each step. */
  readonly seen: readonly (readonly [weight: number, average: number, rate: number])[];
  readonly applied: readonly boolean[];
}

/** Nothing may be committed if only the model state is non-finite, while loss and gradients are finite. */
const modelStateOnly: ConformanceCase = trainerCase<
  WeightsOf,
  Fed,
  { readonly mean: HostTensor<"f32"> },
  { steps: boolean[]; mean: number; w: number }
>(
  "skip/cause/a-model-state-that-is-not-finite",
  {
    params: { w: vector(1) },
    loss: ({ w }, { x }, { modelState }) => ({
      loss: reduceSum(mul(w, 0.25)),
      modelState: { mean: add(modelState.mean, x) },
    }),
    optimizer: exactSgd(1),
    precision: float32(),
    modelState: { mean: vector(0) },
  },
  async ({ training }) => {
    const steps: boolean[] = [];
    for (const x of [1, Number.POSITIVE_INFINITY, Number.NaN, 2])
      steps.push((await training.step({ x: vector(x) })).applied);
    const { mean } = await training.modelState();
    return { steps, mean: Number(mean.data[0]), w: Number((await training.parameters()).w.data[0]) };
  },
  ({ steps, mean, w }) => {
    expectEqual(steps, [true, false, false, true], "which steps are applied");
    expectEqual(mean, 3, "a statistic after two applied steps");
    expectEqual(w, 0.5, "the weight after two applied steps");
  },
);

/**
 * A rate that the host sets applies from the next step on, also after a skip; only applied steps change the average.
 * All numbers are sums of powers of two, so that nothing rounds.
 */
const setAndAveraged: ConformanceCase = trainerCase<WeightsOf, Fed, NoModel, Averaged>(
  "skip/settable-rate-and-average/the-rate-stays-and-the-average-does-not-move",
  {
    params: { w: vector(4) },
    loss: linear,
    optimizer: sgd({ learningRate: settable(0.5) }),
    precision: float32(),
    ema: { decay: 0.5 },
  },
  async ({ training, snapshot }) => {
    const seen: Averaged["seen"][number][] = [];
    const applied: boolean[] = [];
    const step = async (x: number): Promise<void> => {
      applied.push((await training.step({ x: vector(x) })).applied);
      const state = await snapshot();
      seen.push([numberIn(state, "master/w"), numberIn(state, "ema/w"), numberIn(state, "rates/default")]);
    };
    await step(2);
    await training.setRates({ default: 0.25 });
    await step(Number.NaN);
    await step(4);
    return { seen, applied };
  },
  ({ seen, applied }) => {
    expectEqual(applied, [true, false, true], "whether each step is applied");
    expectEqual(
      seen,
      [
        [3, 3, 0.5],
        [3, 3, 0.25],
        [2, 2.5, 0.25],
      ],
      "the weight, its average and the rate after each step",
    );
  },
);

export const transactionCases: readonly ConformanceCase[] = [
  ...nothingMoves,
  ...Object.entries(OPTIMIZERS).map(([name, make]) => forgetsCase(name, make)),
  modelStateOnly,
  setAndAveraged,
];
