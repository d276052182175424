/**
 * The finite check as training builds it, over large tensors: sums of x · 0, and products of a row of zeros with a
 * matrix. One element at a time is non-finite; the step must report it and change nothing. The optimizer gives finite
 * updates for any gradient, so that no later check can find the element instead.
 */
import { float32, type Optimizer, type Precision, sgd, staticLossScale, type TrainerOptions } from "@mp/core";
import { formatShape, type HostTensor, mapTensors, type Shape, zeros } from "@mp/graph";
import { add, cast, greater, reduceSum } from "@mp/graph/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectThat, fail } from "../../expectations.js";
import { anew, fresh } from "../../fresh.js";
import { generate } from "../../host-data.js";
import { badPlaces, placeName } from "../bad-places.js";
import { type Fed, linear, type NoModel, type WeightsOf } from "../problems.js";
import { expectUnmoved, withTrainer } from "../session.js";
import { trainerCase } from "../trainer-case.js";

/** Adds 1 where the gradient is positive, and nothing elsewhere; NaN is not positive. */
const bySign: Optimizer = {
  name: "by sign",
  init: () => ({}),
  update: (gradients, state) => ({
    updates: mapTensors((gradient) => cast(greater(gradient, 0), "f32"), gradients),
    state,
  }),
};

interface Checked<M> {
  readonly shape: Shape;
  readonly options: Omit<TrainerOptions<WeightsOf, Fed, M>, "backend">;
  /** The elements of x; `bad` replaces one of them to make a step bad. */
  readonly good: (at: number) => number;
  readonly bad: number;
}

/** Checks that a good step is applied both before and after the bad steps, and that no bad step is applied. */
function checkCase<M>(id: string, { shape, options, good, bad }: Checked<M>): ConformanceCase {
  const x = anew(generate("f32", shape, good) as HostTensor<"f32">);
  const { accumulate = 1 } = options;
  /** A window that begins with the bad microbatch, which later ones must not hide. */
  const window = (first: HostTensor<"f32">): { readonly x: HostTensor<"f32"> }[] => [
    { x: first },
    ...Array.from({ length: accumulate - 1 }, () => ({ x: x() })),
  ];
  const sketch = trainerCase(
    id,
    fresh(options),
    async ({ training }) => (await training.step(...window(x()))).applied,
    (applied) => expectThat(applied, "a step of finite numbers is not applied"),
  );
  return {
    ...sketch,
    run: (backend, { random, seed }) =>
      withTrainer(backend, fresh(options), async ({ training, snapshot }) => {
        const goodStep = async (when: string): Promise<void> => {
          const { applied } = await training.step(...window(x()));
          expectThat(applied, `a step of finite numbers ${when} is not applied`);
        };
        await goodStep("before all others");
        const before = await snapshot();
        for (const place of badPlaces(shape, random)) {
          const badInput = x();
          badInput.data[place] = bad;
          const { applied } = await training.step(...window(badInput));
          const what = `a step of ${formatShape(shape)} that is not finite at ${placeName(shape, place)}`;
          if (applied) fail(`${what} is applied; seed ${seed}`);
          expectUnmoved(await snapshot(), before, what);
        }
        await goodStep("after all others");
      }),
  };
}

/** A vector, a row, a column, matrices with a long axis, and a convolution kernel, which is checked as a matrix. */
const SHAPES: readonly Shape[] = [
  [65_600],
  [1, 4_100],
  [4_100, 1],
  [130, 67],
  [2, 32_800],
  [32_800, 2],
  [1_030, 70],
  [70, 3, 5, 7],
];

const shapeName = (shape: Shape): string => `f32-${shape.join("x")}`;
const scaleBy = (scale: number): Precision => ({
  ...float32(),
  lossScaler: staticLossScale(scale),
});
const whole = (at: number): number => (at % 7) - 3;

/** Gradients that overflow only because of the loss scale; the loss and the batch are finite. */
const gradients = (shape: Shape, accumulate: number): Checked<NoModel> => ({
  shape,
  options: {
    params: { w: zeros(shape) },
    loss: linear,
    optimizer: bySign,
    precision: scaleBy(2 ** 40),
    accumulate,
    maxConsecutiveSkips: 1_000_000,
  },
  good: whole,
  bad: 1e30,
});

type Statistic = { readonly mean: HostTensor<"f32"> };

/** A model state, the sum of x, that the loss does not read. */
const modelState = (shape: Shape): Checked<Statistic> => ({
  shape,
  options: {
    params: { w: zeros([1]) },
    loss: ({ w }, { x }, { modelState: { mean } }) => ({
      loss: reduceSum(w),
      modelState: { mean: add(mean, x) },
    }),
    optimizer: bySign,
    precision: float32(),
    modelState: { mean: zeros(shape) },
    maxConsecutiveSkips: 1_000_000,
  },
  good: whole,
  bad: Number.NaN,
});

/** Finite gradients that lead to a non-finite update. */
const newParameters = (shape: Shape): Checked<NoModel> => ({
  shape,
  options: {
    params: { w: zeros(shape) },
    loss: linear,
    optimizer: sgd({ learningRate: 2 ** 100 }),
    precision: float32(),
    checkNewParameters: true,
    maxConsecutiveSkips: 1_000_000,
  },
  good: () => 0,
  bad: 2 ** 60,
});

/** Gradients whose sum overflows, though none of them does. */
function largeGradients(shape: Shape): ConformanceCase {
  return trainerCase<WeightsOf, Fed, NoModel, boolean>(
    `finite-check/${shapeName(shape)}/large-gradients-are-finite`,
    {
      params: { w: zeros(shape) },
      loss: linear,
      optimizer: sgd({ learningRate: 0 }),
      precision: float32(),
    },
    async ({ training }) => {
      const x = generate("f32", shape, (at) => (at % 3 === 0 ? -3e38 : 3e38));
      return (await training.step({ x })).applied;
    },
    (applied) => expectThat(applied, "a step whose gradients are all finite, up to ±3e38, is not applied"),
  );
}

export const finiteStepCases: readonly ConformanceCase[] = [
  ...SHAPES.map((shape) =>
    checkCase(`finite-check/${shapeName(shape)}/a-step-sees-every-gradient`, gradients(shape, 1)),
  ),
  ...SHAPES.slice(3, 4).map((shape) =>
    checkCase(`finite-check/${shapeName(shape)}/a-window-sees-every-gradient`, gradients(shape, 2)),
  ),
  ...[[65_600], [130, 67]].map((shape) =>
    checkCase(`finite-check/${shapeName(shape)}/a-step-sees-all-of-a-model-state`, modelState(shape)),
  ),
  ...[[65_600], [130, 67]].map((shape) =>
    checkCase(`finite-check/${shapeName(shape)}/a-step-sees-all-new-parameters`, newParameters(shape)),
  ),
  ...[[4_100], [130, 67]].map(largeGradients),
];
