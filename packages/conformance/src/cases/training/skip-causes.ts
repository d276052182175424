/** What causes a skip, what reports it, and what depends on applied steps only. */
import { float32, type HostTensor, mixedBfloat16, type StepResult, sgd, staticLossScale } from "@mp/core";
import { add, mul, reduceSum } from "@mp/core/ops";
import { exponentialDecay } from "@mp/core/optim";
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

/** Lightning advances its schedule on a skipped step. */
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
    // 0.5^k is computed by Pow, which may be an ulp off.
    const near = (a: number, b: number): boolean => Math.abs(a - b) < 1e-5;
    const expected = [-1, -1, -1.5, -1.5, -1.5, -1.75];
    expectThat(
      weights.every((weight, at) => near(weight, expected[at] as number)),
      `the weights are ${weights.join(", ")}, want ${want.join(", ")}`,
    );
  },
);

/** Only the model state is not finite: loss and gradients are finite, and still nothing may be committed. */
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

/** bf16 overflows too, and DeepSpeed skipped such steps silently. */
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

/** Gradients are finite, their norm is not: clipping by it would make all of them 0 and count the step as applied. */
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
          precision: { ...float32(), lossScaler: staticLossScale(2 ** 10) },
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

export const skipCauseCases: readonly ConformanceCase[] = [schedule, modelStateOnly, saidAloud, ...clipping];
