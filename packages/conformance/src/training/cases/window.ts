/** Gradient accumulation: a window of microbatches is one step. */
import {
  dynamicLossScale,
  float32,
  type LossFunction,
  mixedFloat16,
  type Precision,
  type StepResult,
  staticLossScale,
} from "@mp/core";
import { foldIn, type HostTensor } from "@mp/graph";
import { add, mul, randomBernoulli, reduceSum, where } from "@mp/graph/ops";
import type { Tensors } from "../../cases/kinds/graph-case.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import { exactSgd, type Fed, fill, type NoModel, product, vector, type WeightsOf } from "../problems.js";
import { expectUnmoved } from "../session.js";
import { trainerCase } from "../trainer-case.js";

type Counting = { readonly seen: HostTensor<"f32"> };

/** A loss whose gradient is x; its model state counts the microbatches. */
const counting: LossFunction<WeightsOf, Fed, Counting> = ({ w }, { x }, { modelState }) => ({
  loss: reduceSum(mul(w, x)),
  metrics: { first: reduceSum(x) },
  modelState: { seen: add(modelState.seen, 1) },
});

/** The results of steps on windows. */
interface Windowed {
  readonly steps: readonly StepResult[];
  readonly w: readonly number[];
  readonly seen: number;
  readonly snapshots: readonly Tensors[];
}

interface WindowOptions {
  readonly accumulate: number;
  readonly precision?: Precision;
}

/** A case of steps on windows of batches; each batch is two numbers. */
function windowCase(
  id: string,
  { accumulate, precision = float32() }: WindowOptions,
  windows: readonly (readonly (readonly [number, number])[])[],
  check: (got: Windowed, want: Windowed) => void,
): ConformanceCase {
  return trainerCase<WeightsOf, Fed, Counting, Windowed>(
    id,
    {
      params: { w: fill([2], 0) },
      loss: counting,
      optimizer: exactSgd(),
      precision,
      modelState: { seen: vector(0) },
      accumulate,
    },
    async ({ training, snapshot }) => {
      const steps: StepResult[] = [];
      const snapshots = [await snapshot()];
      for (const batches of windows) {
        steps.push(await training.step(...batches.map((x) => ({ x: vector(...x) }))));
        snapshots.push(await snapshot());
      }
      const { seen } = await training.modelState();
      const w = Array.from((await training.parameters()).w.data);
      return { steps, w, seen: Number(seen.data[0]), snapshots };
    },
    check,
  );
}

/** Four batches of two numbers. */
const FOUR = [
  [1, 2],
  [3, -1],
  [0.5, 4],
  [-2, 8],
] as const;
/** The mean of the four batches. */
const MEAN = [0.625, 3.25];
/** The weights after some steps, each on a window of the four batches. */
const after = (steps: number): readonly number[] => MEAN.map((x) => -(2 ** -3) * x * steps);

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
];

/** A bad microbatch at any position makes the window bad, and nothing of the window is applied. */
const badMicrobatches: readonly ConformanceCase[] = [0, 1, 3].map((position) => {
  const bad = FOUR.map((x, at) => (at === position ? ([Number.NaN, 1] as const) : x));
  const lossScaler = dynamicLossScale({ initialScale: 16, growthInterval: 100 });
  const precision = { ...float32(), lossScaler };
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

/** f16 gradients of 2048, 1, 1 and 1, whose sum in f16 would stay at 2048. */
const inF32: ConformanceCase = trainerCase<WeightsOf, Fed, NoModel, number>(
  "accumulate/f16/sums-in-f32",
  {
    params: { w: fill([1, 1], 0) },
    loss: product,
    optimizer: exactSgd(1),
    precision: { ...mixedFloat16(), lossScaler: staticLossScale(1) },
    accumulate: 4,
  },
  async ({ training }) => {
    const batch = (x: number) => ({ x: fill([1, 1], x) });
    await training.step(batch(2048), batch(1), batch(1), batch(1));
    return Number((await training.parameters()).w.data[0]);
  },
  (w) => expectEqual(w, -2051 / 4, "a weight after gradients of 2048, 1, 1 and 1"),
);

/** A loss that draws a mask for each microbatch; the same window draws the same masks on every engine. */
const maskLoss: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }, { key }) =>
  reduceSum(mul(w, where(randomBernoulli(foldIn(key, "mask"), 0.5, x.shape), x, 0)));

const masks: ConformanceCase = trainerCase<WeightsOf, Fed, NoModel, number[]>(
  "accumulate/random/each-microbatch-draws-its-own",
  {
    params: { w: fill([64], 0) },
    loss: maskLoss,
    optimizer: exactSgd(1),
    precision: float32(),
    accumulate: 4,
  },
  async ({ training }) => {
    const batch = { x: fill([64], -1) };
    await training.step(batch, batch, batch, batch);
    return Array.from((await training.parameters()).w.data);
  },
  (w, want) => {
    expectEqual(w, want, "the weights, each the share of masks that let it through");
    expectThat(
      w.some((x) => x > 0 && x < 1),
      "every microbatch drew the same mask",
    );
  },
);

export const windowCases: readonly ConformanceCase[] = [...sums, ...badMicrobatches, inF32, masks];
