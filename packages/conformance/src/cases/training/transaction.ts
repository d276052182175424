/** A step is applied whole or not at all: what a skip may move and what it may not. */
import {
  adagrad,
  adam,
  adamW,
  add,
  chain,
  clipByGlobalNorm,
  dynamicLossScale,
  exponentialDecay,
  float32,
  type HostTensor,
  type LossFunction,
  type LossScaler,
  mixedBfloat16,
  momentum,
  mul,
  type Optimizer,
  type Precision,
  reduceSum,
  rmsProp,
  type StepResult,
  sgd,
  type Tensor,
  type TrainerOptions,
} from "@mp/core";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import type { Tensors } from "../../graph-case.js";
import {
  exactSgd,
  type Fed,
  filled,
  linear,
  type NoModel,
  product,
  vector,
  type WeightsOf,
} from "../../training/problems.js";
import { scenarioCase } from "../../training/scenario.js";
import {
  expectSameState,
  expectUnmoved,
  isTransactional,
  numberIn,
  withTrainer,
} from "../../training/session.js";

const scaled = (): Precision => ({
  ...float32(),
  lossScaler: dynamicLossScale({ initialScale: 2 ** 10, growthInterval: 3 }) as LossScaler,
});

type Parameters = { readonly a: HostTensor<"f32">; readonly b: readonly HostTensor<"f32">[] };
type Batch = { readonly x: Tensor; readonly y: Tensor };
type Model = { readonly mean: HostTensor<"f32">; readonly seen: HostTensor<"f32"> };

/** Two parameters with gradients x and y, and running statistics of x. */
const tracking: LossFunction<Parameters, Batch, Model> = ({ a, b: [b] }, { x, y }, { modelState }) => ({
  loss: reduceSum(add(mul(a, x), mul(b ?? a, y))),
  modelState: { mean: mul(add(modelState.mean, x), 0.5), seen: add(modelState.seen, 1) },
});

const options = (optimizer: Optimizer): Omit<TrainerOptions<Parameters, Batch, Model>, "backend"> => ({
  params: { a: vector(1, 2, 3), b: [vector(4, 5, 6)] },
  loss: tracking,
  optimizer,
  precision: scaled(),
  modelState: { mean: filled([3], 0), seen: vector(0, 0, 0) },
});

const good = (turn: number): { x: HostTensor; y: HostTensor } => ({
  x: vector(1, turn, 2),
  y: vector(turn, 1, 0.5),
});

/** What makes a step not finite, and where it shows first. */
const poisons: Readonly<Record<string, { x: HostTensor; y: HostTensor }>> = {
  "a-nan-in-the-data": { x: vector(1, Number.NaN, 1), y: vector(1, 1, 1) },
  "an-infinite-loss": { x: vector(3e38, 3e38, 3e38), y: vector(1, 1, 1) },
  "one-gradient-among-many": { x: vector(1, 1, 1), y: vector(1, 2 ** 120, 1) },
};

interface Skip {
  readonly before: Tensors;
  readonly after: Tensors;
  readonly step: StepResult;
}

function skipCase(
  behaviour: string,
  optimizer: Optimizer,
  poison: { x: HostTensor; y: HostTensor },
): ConformanceCase {
  return scenarioCase<Skip>(
    `skip/${behaviour}`,
    (backend) =>
      withTrainer<Parameters, Batch, Model, Skip>(
        backend,
        options(optimizer),
        async ({ training, snapshot }) => {
          for (const turn of [1, 2]) await training.step(good(turn));
          const before = await snapshot();
          const step = await training.step(poison);
          return { before, after: await snapshot(), step };
        },
      ),
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
  momentum: () => momentum({ learningRate: 0.1 }) as Optimizer,
  nesterov: () => momentum({ learningRate: 0.1, nesterov: true }) as Optimizer,
  adagrad: () => adagrad({ learningRate: 0.1 }) as Optimizer,
  "rms-prop": () => rmsProp({ learningRate: 0.1 }) as Optimizer,
  adam: () => adam({ learningRate: 0.1 }) as Optimizer,
  "adam-w": () => adamW({ learningRate: 0.1 }) as Optimizer,
  chain: () => chain(clipByGlobalNorm(1), momentum({ learningRate: 0.1 }) as Optimizer) as Optimizer,
};

const nothingMoves: readonly ConformanceCase[] = [
  ...Object.entries(OPTIMIZERS).map(([name, make]) =>
    skipCase(`${name}/nothing-moves-that-must-not`, make(), poisons["a-nan-in-the-data"] as never),
  ),
  ...Object.entries(poisons).map(([what, poison]) =>
    skipCase(`cause/${what}`, sgd({ learningRate: 0.1 }), poison),
  ),
];

/** One run with a batch that is skipped and one without it end the same: nothing remembers. */
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
              if (poisoned && turn % 2 === 0) await training.step(poisons["a-nan-in-the-data"] as never);
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

/** Lightning moves its schedule on a skipped step. */
const schedule: ConformanceCase = scenarioCase<readonly number[]>(
  "skip/schedule/counts-applied-steps",
  (backend) =>
    withTrainer<WeightsOf, Fed, NoModel, number[]>(
      backend,
      {
        params: { w: vector(0) },
        loss: linear,
        optimizer: sgd({ learningRate: exponentialDecay(1, { decay: 0.5, every: 1 }) }),
        precision: float32(),
      },
      async ({ training }) => {
        const weights: number[] = [];
        for (const x of [1, Number.NaN, 1, Number.NaN, Number.NaN, 1]) {
          await training.step({ x: vector(x) });
          weights.push(Number((await training.parameters()).w.data[0]));
        }
        return weights;
      },
    ),
  (weights, want) => {
    // 0.5^k comes out of Pow, which may be an ulp off.
    const near = (a: number, b: number): boolean => Math.abs(a - b) < 1e-5;
    const expected = [-1, -1, -1.5, -1.5, -1.5, -1.75];
    expectThat(
      weights.every((weight, at) => near(weight, expected[at] as number)),
      `the weights are ${weights.join(", ")}, want ${want.join(", ")}`,
    );
  },
);

/** The model state alone is spoilt: loss and gradients are finite, and still nothing may be committed. */
const modelStateOnly: ConformanceCase = scenarioCase<{
  readonly steps: readonly boolean[];
  readonly mean: number;
  readonly w: number;
}>(
  "skip/cause/a-model-state-that-is-not-finite",
  (backend) =>
    withTrainer<
      WeightsOf,
      Fed,
      { readonly mean: HostTensor<"f32"> },
      { steps: boolean[]; mean: number; w: number }
    >(
      backend,
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
    ),
  ({ steps, mean, w }) => {
    expectEqual(steps, [true, false, false, true], "which steps are applied");
    expectEqual(mean, 3, "a statistic after two applied steps");
    expectEqual(w, 0.5, "the weight after two applied steps");
  },
);

/** bf16 overflows too, and DeepSpeed skipped such steps without a word. */
const saidAloud: ConformanceCase = scenarioCase<readonly unknown[]>(
  "skip/mixed-bfloat16/is-said",
  (backend) =>
    withTrainer<WeightsOf, Fed, NoModel, readonly unknown[]>(
      backend,
      { params: { w: filled([1, 2], 3) }, loss: product, optimizer: exactSgd(1), precision: mixedBfloat16() },
      async ({ training }) => {
        const applied: boolean[] = [];
        for (const x of [1, 3e38, 1]) applied.push((await training.step({ x: filled([2, 1], x) })).applied);
        const { applied: count, skipped, iteration } = await training.counters();
        return [applied, count, skipped, iteration, Number((await training.parameters()).w.data[0])];
      },
    ),
  (got) => expectEqual(got, [[true, false, true], 2, 1, 3, 1], "steps, counters and the weight"),
);

/** An update that overflows the weights themselves; refused when asked for. */
const newParameters: readonly ConformanceCase[] = [true, false].map((checked) =>
  scenarioCase<{ readonly applied: boolean; readonly w: number }>(
    `skip/cause/${checked ? "new-parameters-are-checked-on-demand" : "new-parameters-are-not-checked-by-default"}`,
    (backend) =>
      withTrainer<WeightsOf, Fed, NoModel, { applied: boolean; w: number }>(
        backend,
        {
          params: { w: vector(0) },
          loss: linear,
          optimizer: sgd({ learningRate: 2 ** 100 }),
          precision: float32(),
          checkNewParameters: checked,
        },
        async ({ training }) => {
          const { applied } = await training.step({ x: vector(2 ** 100) });
          return { applied, w: Number((await training.parameters()).w.data[0]) };
        },
      ),
    ({ applied, w }) => {
      expectEqual(applied, !checked, "whether a step to -infinity is applied");
      expectEqual(w, checked ? 0 : Number.NEGATIVE_INFINITY, "the weight");
    },
  ),
);

/** Gradients are finite, their norm is not: clipping by it would make all of them 0 and call the step applied. */
const clipping: readonly ConformanceCase[] = [
  scenarioCase<{ readonly steps: readonly StepResult[]; readonly w: readonly number[] }>(
    "clip/norm/an-overflowing-norm-is-a-skip",
    (backend) =>
      withTrainer<WeightsOf, Fed, NoModel, { steps: StepResult[]; w: number[] }>(
        backend,
        {
          params: { w: filled([3], 0) },
          loss: linear,
          optimizer: exactSgd(1),
          precision: float32(),
          clipNorm: 1,
        },
        async ({ training }) => {
          const steps = [
            await training.step({ x: vector(2e38, 2e38, 1) }),
            await training.step({ x: vector(3, 0, 4) }),
          ];
          return { steps, w: Array.from((await training.parameters()).w.data) };
        },
      ),
    ({ steps, w }) => {
      expectEqual(
        steps.map(({ applied }) => applied),
        [false, true],
        "which steps are applied",
      );
      expectThat(Math.abs((steps[1]?.gradNorm ?? 0) - 5) < 1e-5, `the norm is ${steps[1]?.gradNorm}, want 5`);
      const [a = 0, b, c = 0] = w;
      expectThat(
        Math.abs(a + 0.6) < 1e-6 && b === 0 && Math.abs(c + 0.8) < 1e-6,
        `the weights are ${w.join(", ")}, want -0.6, 0, -0.8`,
      );
    },
  ),
  // Clipping scaled gradients would clip at threshold / scale.
  scenarioCase<{ readonly norm: number; readonly w: number }>(
    "clip/norm/clips-what-is-unscaled",
    (backend) =>
      withTrainer<WeightsOf, Fed, NoModel, { norm: number; w: number }>(
        backend,
        {
          params: { w: vector(0) },
          loss: linear,
          optimizer: exactSgd(1),
          precision: scaled(),
          clipNorm: 4,
        },
        async ({ training }) => {
          const { gradNorm } = await training.step({ x: vector(2) });
          return { norm: gradNorm, w: Number((await training.parameters()).w.data[0]) };
        },
      ),
    ({ norm, w }) => expectEqual([norm, w], [2, -2], "the norm and the weight of a gradient below the limit"),
  ),
];

/** Frozen parameters and what only evaluation touches stay where they are. */
const stays: readonly ConformanceCase[] = [
  scenarioCase<readonly [Tensors, Tensors]>(
    "skip/evaluate/moves-nothing",
    (backend) =>
      withTrainer<Parameters, Batch, Model, readonly [Tensors, Tensors]>(
        backend,
        options(exactSgd()),
        async ({ training, snapshot }) => {
          await training.step(good(1));
          const before = await snapshot();
          await training.evaluate(good(2));
          await training.evaluate(poisons["a-nan-in-the-data"] as never);
          await training.predict(({ a }) => mul(a, 2), {});
          await training.parameters();
          return [before, await snapshot()];
        },
      ),
    ([before, after]) => expectSameState(after, before, "the state after evaluations"),
  ),
  scenarioCase<readonly [Tensors, Tensors]>(
    "skip/diagnose/moves-nothing",
    (backend) =>
      withTrainer<Parameters, Batch, Model, readonly [Tensors, Tensors]>(
        backend,
        options(exactSgd()),
        async ({ training, snapshot }) => {
          await training.step(good(1));
          const before = await snapshot();
          await training.diagnose(poisons["one-gradient-among-many"] as never);
          return [before, await snapshot()];
        },
      ),
    ([before, after]) => expectSameState(after, before, "the state after a diagnosis"),
  ),
];

/** What is frozen takes no gradient, no decay and no optimizer state. */
const frozen: ConformanceCase = scenarioCase<{
  readonly slots: readonly string[];
  readonly params: Parameters;
}>(
  "skip/frozen/parameters-never-move",
  (backend) =>
    withTrainer<Parameters, Batch, Model, { slots: readonly string[]; params: Parameters }>(
      backend,
      { ...options(adamW({ learningRate: 0.5, weightDecay: 0.5 }) as Optimizer), frozen: { a: true } },
      async ({ training, snapshot }) => {
        for (const turn of [1, 2, 3]) await training.step(good(turn));
        return { slots: Object.keys(await snapshot()), params: await training.parameters() };
      },
    ),
  ({ slots, params }) => {
    expectEqual(Array.from(params.a.data), [1, 2, 3], "the frozen parameter after three steps");
    expectThat(params.b[0]?.data[0] !== 4, "the other parameter did not move");
    expectEqual(
      slots.filter((slot) => /^optimizer\/.*\ba$/.test(slot)),
      [],
      "optimizer state of the frozen parameter",
    );
  },
);

export const transactionCases: readonly ConformanceCase[] = [
  ...nothingMoves,
  ...Object.entries(OPTIMIZERS).map(([name, make]) => forgetsCase(name, make)),
  schedule,
  modelStateOnly,
  saidAloud,
  ...newParameters,
  ...clipping,
  ...stays,
  frozen,
];
