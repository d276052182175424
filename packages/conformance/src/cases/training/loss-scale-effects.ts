/** What scales do to gradients, and what every scaler must do in addition to its trace. */
import {
  dynamicLossScale,
  float32,
  type LossFunction,
  type LossScaler,
  mixedFloat16,
  noLossScaling,
  type Precision,
  type StepResult,
  staticLossScale,
  type Tensor,
} from "@mp/core";
import { add, div, literal, mul, reduceSum, where } from "@mp/core/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
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
import { withTrainer } from "../../training/session.js";

const dividedBy1024 = (y: Tensor): Tensor => mul(y, 2 ** -10);

interface HalfRun {
  readonly steps: readonly StepResult[];
  readonly weight: number;
}

/** In f16 a gradient of 1 times 2^16 is infinite: this happens in the very first step of the usual settings. */
function halfCase(
  behaviour: string,
  precision: () => Precision,
  steps: number,
  x: number,
  check: (run: HalfRun) => void,
  loss: LossFunction<WeightsOf, Fed, NoModel> = product,
): ConformanceCase {
  return scenarioCase<HalfRun>(
    `loss-scale/${behaviour}`,
    (backend) =>
      withTrainer<WeightsOf, Fed, NoModel, HalfRun>(
        backend,
        { params: { w: filled([1, 1], 0) }, loss, optimizer: exactSgd(), precision: precision() },
        async ({ training }) => {
          const results: StepResult[] = [];
          for (let step = 0; step < steps; step++)
            results.push(await training.step({ x: filled([1, 1], x) }));
          return { steps: results, weight: Number((await training.parameters()).w.data[0]) };
        },
      ),
    check,
  );
}

const halves: readonly ConformanceCase[] = [
  halfCase("f16/the-gradient-overflows-in-the-half", mixedFloat16, 4, 1, ({ steps, weight }) => {
    expectEqual(
      steps.map(({ applied, scale }) => [applied, scale]),
      [
        [false, 65536],
        [true, 32768],
        [true, 32768],
        [true, 32768],
      ],
      "the first steps",
    );
    expectEqual(weight, -3 * 2 ** -3, "the weight after three applied steps of 2^-3");
  }),
  // dL/dL is the scale: a loss in f16 could not even hold it from 65520 on.
  halfCase(
    "f16/the-loss-is-scaled-in-f32",
    () => ({ ...mixedFloat16(), lossScaler: staticLossScale(2 ** 20) }),
    1,
    2 ** -10,
    ({ steps, weight }) => {
      expectEqual(steps[0]?.applied, true, "whether a step at a scale of 2^20 is applied");
      expectEqual(weight, -(2 ** -23), "the weight after a gradient of 2^-20");
    },
    (weights, batch, context) => dividedBy1024(product(weights, batch, context) as Tensor),
  ),
];

/** In f16 dL/dw is 2^-26 without a scale, which rounds to 0; with a scale it is right. */
function underflowCase(behaviour: string, scale: number, want: number): ConformanceCase {
  const lossScaler = scale === 1 ? noLossScaling() : staticLossScale(scale);
  return scenarioCase<number>(
    `loss-scale/${behaviour}`,
    (backend) =>
      withTrainer<WeightsOf, Fed, NoModel, number>(
        backend,
        {
          params: { w: filled([1, 1], 0) },
          loss: (weights, batch, context) => {
            const y = product(weights, batch, context) as Tensor;
            // Two factors, since neither constant alone may underflow.
            return dividedBy1024(mul(y, 2 ** -16));
          },
          optimizer: exactSgd(1),
          precision: { ...mixedFloat16(), lossScaler },
        },
        async ({ training }) => {
          await training.step({ x: filled([1, 1], 1) });
          return Number((await training.parameters()).w.data[0]);
        },
      ),
    (got) => expectEqual(got, want, `a weight after a gradient of 2^-26 at scale ${scale}`),
  );
}

const PLAIN: Readonly<Record<string, LossScaler>> = {
  none: noLossScaling(),
  static: staticLossScale(2 ** 7),
};

/** Apex does not check for overflow with a static scale, and infinities reach the master weights. */
const withoutState: readonly ConformanceCase[] = Object.entries(PLAIN).map(([name, lossScaler]) =>
  scenarioCase<{ readonly steps: readonly StepResult[]; readonly weights: readonly number[] }>(
    `loss-scale/${name}/still-skips-what-is-not-finite`,
    (backend) =>
      withTrainer<WeightsOf, Fed, NoModel, { steps: StepResult[]; weights: number[] }>(
        backend,
        {
          params: { w: filled([2], 0.5) },
          loss: linear,
          optimizer: exactSgd(),
          precision: { ...float32(), lossScaler },
          onOverflow: "retry",
        },
        async ({ training }) => {
          const batches = [
            [1, 1],
            [Number.NaN, 1],
            [1, Number.POSITIVE_INFINITY],
            [1, 1],
          ];
          const steps: StepResult[] = [];
          for (const batch of batches) steps.push(await training.step({ x: vector(...batch) }));
          return { steps, weights: Array.from((await training.parameters()).w.data) };
        },
      ),
    ({ steps, weights }) => {
      expectEqual(
        steps.map(({ applied }) => applied),
        [true, false, false, true],
        "which steps are applied",
      );
      expectEqual(
        steps.map(({ retries }) => retries),
        [0, 0, 0, 0],
        "retries at a scale that cannot change",
      );
      expectEqual(weights, [0.25, 0.25], "the weights after two applied steps");
    },
  ),
);

/** torch checks scaled gradients only: below a scale of 1 they may be finite where the unscaled ones are not. */
const unscaling: ConformanceCase = scenarioCase<readonly unknown[]>(
  "loss-scale/static/overflow-in-unscaling-is-a-skip",
  (backend) =>
    withTrainer<WeightsOf, Fed, NoModel, readonly unknown[]>(
      backend,
      {
        params: { w: filled([2], 0) },
        loss: ({ w }, { x }) => add(reduceSum(mul(w, x)), reduceSum(mul(w, x))),
        optimizer: exactSgd(),
        precision: { ...float32(), lossScaler: staticLossScale(2 ** -10) },
      },
      async ({ training }) => {
        const large = await training.step({ x: vector(1.5 * 2 ** 127, 1) });
        const good = await training.step({ x: vector(1, 1) });
        return [large.applied, good.applied, Array.from((await training.parameters()).w.data)];
      },
    ),
  (got) => expectEqual(got, [false, true, [-0.25, -0.25]], "the two steps and the weights"),
);

/** A custom scaler: its state is any tree, and it runs inside the graph. */
type Alternating = { readonly scale: Tensor; readonly history: readonly Tensor[] };

const alternating: LossScaler<Alternating> = {
  name: "alternating",
  init: () => ({ scale: literal(2), history: [literal(0), literal(0)] }),
  scale: ({ scale }) => scale,
  update: ({ scale, history: [last, before] }, finite) => ({
    scale: where(finite, div(16, scale), mul(scale, 0.5)),
    history: [add(scale, 0), add(last ?? scale, mul(before ?? scale, 0))],
  }),
};

const own: ConformanceCase = scenarioCase<readonly (readonly [number, boolean])[]>(
  "loss-scale/own/runs-inside-the-graph",
  (backend) =>
    withTrainer<WeightsOf, Fed, NoModel, (readonly [number, boolean])[]>(
      backend,
      {
        params: { w: filled([1], 0) },
        loss: linear,
        optimizer: exactSgd(),
        precision: { ...float32(), lossScaler: alternating },
      },
      async ({ training }) => {
        const seen: (readonly [number, boolean])[] = [];
        for (const x of [1, 1, Number.NaN, 1, 1]) {
          const { scale, applied } = await training.step({ x: vector(x) });
          seen.push([scale, applied]);
        }
        seen.push([Number((await training.parameters()).w.data[0]), true]);
        return seen;
      },
    ),
  (seen) => {
    const trace = [
      [2, true],
      [8, true],
      [2, false],
      [1, true],
      [16, true],
    ];
    expectEqual(seen.slice(0, -1), trace, "the scales of a custom scaler");
    expectThat(seen.at(-1)?.[0] === -0.5, `the weight after four steps of 2^-3 is ${seen.at(-1)?.[0]}`);
  },
);

const inert: ConformanceCase = scenarioCase<readonly unknown[]>(
  "loss-scale/evaluate/leaves-the-scaler-alone",
  (backend) =>
    withTrainer<WeightsOf, Fed, NoModel, readonly unknown[]>(
      backend,
      {
        params: { w: filled([1], 0) },
        loss: linear,
        optimizer: exactSgd(),
        precision: {
          ...float32(),
          lossScaler: dynamicLossScale({ initialScale: 2 ** 10, growthInterval: 4 }),
        },
      },
      async ({ training }) => {
        const before = await training.counters();
        for (let turn = 0; turn < 5; turn++)
          await training.evaluate({ x: vector(turn === 2 ? Number.NaN : 1) });
        return [before, await training.counters()];
      },
    ),
  ([before, after]) => expectEqual(after, before, "the counters after evaluations"),
);

export const lossScaleEffectCases: readonly ConformanceCase[] = [
  ...halves,
  underflowCase("f16/without-a-scale-small-gradients-are-lost", 1, 0),
  underflowCase("f16/with-a-scale-they-are-not", 2 ** 16, -(2 ** -26)),
  ...withoutState,
  unscaling,
  own,
  inert,
];
