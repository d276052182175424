/** Gradient accumulation: a window of microbatches is one step. */
import {
  dynamicLossScale,
  float32,
  foldIn,
  type LossFunction,
  mixedFloat16,
  staticLossScale,
} from "@mp/core";
import { mul, randomBernoulli, reduceSum, where } from "@mp/core/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectCode, expectEqual, expectThat } from "../../expectations.js";
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
import { expectUnmoved, withTrainer } from "../../training/session.js";
import { after, FOUR, scalerOf, windowCase } from "./window-case.js";

const sums: readonly ConformanceCase[] = [
  windowCase(
    "accumulate/window/equals-one-big-batch",
    { accumulate: 4 },
    [FOUR, FOUR],
    ({ steps, w, seen }) => {
      expectEqual(w, after(2), "the weights after two windows");
      expectEqual(seen, 8, "microbatches that the model state counted");
      expectEqual(
        steps.map(({ applied }) => applied),
        [true, true],
        "which windows are applied",
      );
      expectEqual(steps[0]?.metrics, { first: (3 + 2 + 4.5 + 6) / 4 }, "metrics, the mean over the window");
      // At weights of 0 the first loss is 0; the second is the mean of the microbatches' losses.
      expectEqual(steps[1]?.loss, -(2 ** -3) * 0.625 * 0.625 - 2 ** -3 * 3.25 * 3.25, "the loss");
    },
  ),
  // Keras updates its averages on microbatches that update nothing else.
  windowCase(
    "accumulate/window/commits-only-at-its-end",
    { accumulate: 4 },
    [FOUR, FOUR],
    ({ snapshots }) => {
      const counts = snapshots.map((snapshot) =>
        ["model/seen", "applied", "iteration"].map((slot) => Number(snapshot[slot]?.data[0])),
      );
      expectEqual(
        counts,
        [
          [0, 0, 0],
          [4, 1, 1],
          [8, 2, 2],
        ],
        "model state, applied steps and iterations after each window",
      );
    },
  ),
  windowCase(
    "accumulate/scale/is-one-for-a-window",
    { accumulate: 2, precision: scalerOf(dynamicLossScale({ initialScale: 4, growthInterval: 1 })) },
    [FOUR.slice(0, 2), FOUR.slice(0, 2), FOUR.slice(0, 2)],
    ({ steps, w }) => {
      expectEqual(
        steps.map(({ scale }) => scale),
        [4, 8, 16],
        "the scales of three windows",
      );
      expectEqual(w, [-0.75, -3 * 2 ** -4], "the weights after three windows of mean gradient 2 and 0.5");
    },
  ),
  windowCase(
    "accumulate/scale/below-one-unscales-too",
    { accumulate: 2, precision: scalerOf(staticLossScale(0.25)) },
    [FOUR.slice(0, 2)],
    ({ w }) => {
      expectEqual(w, [-0.25, -(2 ** -4)], "the weights after a window at scale 1/4");
    },
  ),
];

/** A bad microbatch at any position makes the whole window bad, and none of the window is applied. */
const badMicrobatches: readonly ConformanceCase[] = [0, 1, 3].map((position) => {
  const bad = FOUR.map((x, at) => (at === position ? ([Number.NaN, 1] as const) : x));
  const precision = scalerOf(dynamicLossScale({ initialScale: 16, growthInterval: 100 }));
  return windowCase(
    `accumulate/overflow/in-microbatch-${position}-skips-the-window`,
    { accumulate: 4, precision },
    [FOUR, bad, FOUR],
    ({ steps, w, seen, snapshots }) => {
      expectEqual(
        steps.map(({ applied, scale }) => [applied, scale]),
        [
          [true, 16],
          [false, 16],
          [true, 8],
        ],
        "the windows",
      );
      expectUnmoved(snapshots[2] as Tensors, snapshots[1] as Tensors, "the skipped window");
      expectEqual(w, after(2), "the weights after two good windows and a bad one");
      expectEqual(seen, 8, "microbatches that the model state counted");
    },
  );
});

/** f16 gradients of 2048 and three times 1: accumulated in f16 they would stay at 2048. */
const inF32: ConformanceCase = scenarioCase<number>(
  "accumulate/f16/sums-in-f32",
  (backend) =>
    withTrainer<WeightsOf, Fed, NoModel, number>(
      backend,
      {
        params: { w: filled([1, 1], 0) },
        loss: product,
        optimizer: exactSgd(1),
        precision: { ...mixedFloat16(), lossScaler: staticLossScale(1) },
        accumulate: 4,
      },
      async ({ training }) => {
        const batch = (x: number) => ({ x: filled([1, 1], x) });
        await training.step(batch(2048), batch(1), batch(1), batch(1));
        return Number((await training.parameters()).w.data[0]);
      },
    ),
  (w) => expectEqual(w, -2051 / 4, "a weight after gradients of 2048, 1, 1 and 1"),
);

/** Each microbatch draws its own mask; the same window draws the same masks on every engine. */
const masked: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }, { key }) =>
  reduceSum(mul(w, where(randomBernoulli(foldIn(key, "mask"), 0.5, x.shape), x, 0)));

const masks: ConformanceCase = scenarioCase<readonly number[]>(
  "accumulate/random/each-microbatch-draws-its-own",
  (backend) =>
    withTrainer<WeightsOf, Fed, NoModel, number[]>(
      backend,
      {
        params: { w: filled([64], 0) },
        loss: masked,
        optimizer: exactSgd(1),
        precision: float32(),
        accumulate: 4,
      },
      async ({ training }) => {
        const batch = { x: filled([64], -1) };
        await training.step(batch, batch, batch, batch);
        return Array.from((await training.parameters()).w.data);
      },
    ),
  (w, want) => {
    expectEqual(w, want, "the weights, each the share of masks that let it through");
    expectThat(
      w.some((x) => x > 0 && x < 1),
      "every microbatch drew the same mask",
    );
  },
);

const misuse: readonly ConformanceCase[] = [
  scenarioCase<readonly number[]>(
    "accumulate/failure/a-broken-window-leaves-nothing",
    (backend) =>
      withTrainer<WeightsOf, Fed, NoModel, number[]>(
        backend,
        {
          params: { w: filled([2], 0) },
          loss: linear,
          optimizer: exactSgd(),
          precision: float32(),
          accumulate: 2,
        },
        async ({ training }) => {
          const [a, b] = [{ x: vector(1, 2) }, { x: vector(3, 4) }];
          await expectCode("MP_INVALID_ARGUMENT", "a step on one batch of two", () => training.step(a));
          await expectCode("MP_SHAPE_MISMATCH", "a window whose second batch does not fit", () =>
            training.step(a, { x: vector(1, 2, 3) }),
          );
          await training.step(a, b);
          return Array.from((await training.parameters()).w.data);
        },
      ),
    (w) => expectEqual(w, [-0.25, -0.375], "the weights after the one whole window"),
  ),
];

export const windowCases: readonly ConformanceCase[] = [...sums, ...badMicrobatches, inF32, masks, ...misuse];
