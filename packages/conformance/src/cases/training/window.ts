/** Gradient accumulation and the all-reduce hook: a window of microbatches is one step. */
import {
  type AllReduce,
  add,
  dynamicLossScale,
  float32,
  fold,
  type HostTensor,
  type LossFunction,
  type LossScaler,
  MpError,
  mixedFloat16,
  mul,
  type Precision,
  randomBernoulli,
  reduceSum,
  type StepResult,
  staticLossScale,
  tensor,
  where,
} from "@mp/core";
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

type Counting = { readonly seen: HostTensor<"f32"> };

/** Its gradient is x; its model state counts the microbatches. */
const counting: LossFunction<WeightsOf, Fed, Counting> = ({ w }, { x }, { modelState }) => ({
  loss: reduceSum(mul(w, x)),
  metrics: { first: reduceSum(x) },
  modelState: { seen: add(modelState.seen, 1) },
});

interface Windowed {
  readonly steps: readonly StepResult[];
  readonly w: readonly number[];
  readonly seen: number;
  readonly snapshots: readonly Tensors[];
}

const scalerOf = (lossScaler: unknown): Precision => ({ ...float32(), lossScaler: lossScaler as LossScaler });

interface WindowOptions {
  readonly accumulate: number;
  readonly precision?: Precision;
  readonly allReduce?: AllReduce;
}

/** Steps on windows of batches, each batch two numbers. */
function windowCase(
  id: string,
  { accumulate, precision = float32(), allReduce }: WindowOptions,
  windows: readonly (readonly (readonly [number, number])[])[],
  check: (got: Windowed, want: Windowed) => void,
): ConformanceCase {
  return scenarioCase<Windowed>(
    id,
    (backend) =>
      withTrainer<WeightsOf, Fed, Counting, Windowed>(
        backend,
        {
          params: { w: filled([2], 0) },
          loss: counting,
          optimizer: exactSgd(),
          precision,
          modelState: { seen: vector(0) },
          accumulate,
          ...(allReduce === undefined ? {} : { allReduce }),
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
      ),
    check,
  );
}

const FOUR = [[1, 2], [3, -1], [0.5, 4], [-2, 8]] as const; // biome-ignore format: one window
const MEAN = [0.625, 3.25];
const after = (steps: number): readonly number[] => MEAN.map((x) => -(2 ** -3) * x * steps);

const sums: readonly ConformanceCase[] = [
  windowCase("accumulate/window/equals-one-big-batch", { accumulate: 4 }, [FOUR, FOUR], ({ steps, w, seen }) => {
    expectEqual(w, after(2), "the weights after two windows");
    expectEqual(seen, 8, "microbatches that the model state counted");
    expectEqual(steps.map(({ applied }) => applied), [true, true], "which windows are applied");
    expectEqual(steps[0]?.metrics, { first: (3 + 2 + 4.5 + 6) / 4 }, "metrics, the mean over the window");
    // At weights of 0 the first loss is 0; the second is the mean of the microbatches'.
    expectEqual(steps[1]?.loss, -(2 ** -3) * (MEAN[0] as number) * 0.625 - 2 ** -3 * (MEAN[1] as number) * 3.25, "the loss");
  }),
  // Keras updates its averages on microbatches that update nothing else.
  windowCase("accumulate/window/commits-only-at-its-end", { accumulate: 4 }, [FOUR, FOUR], ({ snapshots }) => {
    const counts = snapshots.map((snapshot) => ["model/seen", "applied", "iteration"].map((slot) => Number(snapshot[slot]?.data[0])));
    expectEqual(counts, [[0, 0, 0], [4, 1, 1], [8, 2, 2]], "model state, applied steps and iterations after each window");
  }),
  windowCase("accumulate/scale/is-one-for-a-window", { accumulate: 2, precision: scalerOf(dynamicLossScale({ initialScale: 4, growthInterval: 1 })) }, [FOUR.slice(0, 2), FOUR.slice(0, 2), FOUR.slice(0, 2)], ({ steps, w }) => {
    expectEqual(steps.map(({ scale }) => scale), [4, 8, 16], "the scales of three windows");
    expectEqual(w, [-0.75, -3 * 2 ** -4], "the weights after three windows of mean gradient 2 and 0.5");
  }),
  windowCase("accumulate/scale/below-one-unscales-too", { accumulate: 2, precision: scalerOf(staticLossScale(0.25)) }, [FOUR.slice(0, 2)], ({ w }) => {
    expectEqual(w, [-0.25, -(2 ** -4)], "the weights after a window at scale 1/4");
  }),
]; // biome-ignore format: one case after another

/** Wherever in the window it is, one bad microbatch spoils the whole and nothing of it stays. */
const spoilt: readonly ConformanceCase[] = [0, 1, 3].map((position) => {
  const bad = FOUR.map((x, at) => (at === position ? ([Number.NaN, 1] as const) : x));
  const precision = scalerOf(dynamicLossScale({ initialScale: 16, growthInterval: 100 }));
  return windowCase(
    `accumulate/overflow/in-microbatch-${position}-skips-the-window`,
    { accumulate: 4, precision },
    [FOUR, bad, FOUR],
    ({ steps, w, seen, snapshots }) => {
      expectEqual(steps.map(({ applied, scale }) => [applied, scale]), [[true, 16], [false, 16], [true, 8]], "the windows");
      expectUnmoved(snapshots[2] as Tensors, snapshots[1] as Tensors, "the skipped window");
      expectEqual(w, after(2), "the weights after two good windows and a bad one");
      expectEqual(seen, 8, "microbatches that the model state counted");
    },
  );
}); // biome-ignore format: one case

/** Gradients in f16 of 2048 and three times 1: a sum in f16 would stay at 2048. */
const inF32: ConformanceCase = scenarioCase<number>(
  "accumulate/f16/sums-in-f32",
  (backend) =>
    withTrainer<WeightsOf, Fed, NoModel, number>(
      backend,
      {
        params: { w: filled([1, 1], 0) },
        loss: product,
        optimizer: exactSgd(1),
        precision: { ...mixedFloat16(), lossScaler: staticLossScale(1) as LossScaler },
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

/** Each microbatch draws its own mask; the same window draws the same ones on every engine. */
const masked: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }, { key }) =>
  reduceSum(mul(w, where(randomBernoulli(fold(key, "mask"), 0.5, x.shape), x, 0)));

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

const isGradient = (slot: string): boolean => slot.startsWith("window/gradients");

const mapped =
  (f: (slot: string, values: Float32Array) => Float32Array): AllReduce =>
  (window) =>
    Promise.resolve(
      Object.fromEntries(
        Object.entries(window).map(([slot, { shape, data }]) => [
          slot,
          tensor(f(slot, data as Float32Array), shape),
        ]),
      ),
    );

const hooks: readonly ConformanceCase[] = [
  windowCase("all-reduce/hook/gets-and-gives-gradients", { accumulate: 2, allReduce: mapped((slot, x) => (isGradient(slot) ? x.map((g) => 2 * g) : x)) }, [FOUR.slice(0, 2)], ({ w }) => {
    expectEqual(w, [-0.5, -0.125], "the weights after a hook that doubles");
  }),
  windowCase("all-reduce/hook/works-without-accumulation", { accumulate: 1, allReduce: mapped((_, x) => x) }, [[FOUR[0]], [FOUR[1]]], ({ w, seen }) => {
    expectEqual([w, seen], [[-0.5, -0.125], 2], "weights and model state after two steps");
  }),
  // Another process overflowed: this one must skip too, though its own gradients were finite.
  windowCase("all-reduce/hook/another-process-overflows", { accumulate: 2, allReduce: mapped((slot, x) => (isGradient(slot) ? x.map((g, at) => (at === 1 ? Number.POSITIVE_INFINITY : g)) : x)), precision: scalerOf(dynamicLossScale({ initialScale: 16, growthInterval: 100 })) }, [FOUR.slice(0, 2), FOUR.slice(0, 2)], ({ steps, w, seen }) => {
    expectEqual(steps.map(({ applied, scale }) => [applied, scale]), [[false, 16], [false, 8]], "the windows");
    expectEqual([w, seen], [[0, 0], 0], "weights and model state");
  }),
  windowCase("all-reduce/hook/another-process-lost-its-loss", { accumulate: 1, allReduce: mapped((slot, x) => (slot === "window/loss" ? x.map(() => Number.NaN) : x)) }, [[FOUR[0]]], ({ steps, w }) => {
    expectEqual([steps[0]?.applied, w], [false, [0, 0]], "the step and the weights");
  }),
]; // biome-ignore format: one case after another

/** Two processes on half the batches each, against one on all of them. */
const ranks: ConformanceCase = scenarioCase<readonly (readonly number[])[]>(
  "all-reduce/two-processes/equal-one",
  async (backend) => {
    const meeting = new Meeting(2);
    const rank = (batches: readonly (readonly [number, number])[]): Promise<number[]> =>
      withTrainer<WeightsOf, Fed, NoModel, number[]>(
        backend,
        {
          params: { w: filled([2], 0) },
          loss: linear,
          optimizer: exactSgd(),
          precision: float32(),
          allReduce: (window) => meeting.mean(window),
        },
        async ({ training }) => {
          for (const x of batches) await training.step({ x: vector(...x) });
          return Array.from((await training.parameters()).w.data);
        },
      );
    return Promise.all([rank([FOUR[0], FOUR[2]]), rank([FOUR[1], FOUR[3]])]);
  },
  ([first, second]) => {
    const want = [-(2 ** -3) * (2 - 0.75), -(2 ** -3) * (0.5 + 6)];
    expectEqual(first, want, "the weights of the first process");
    expectEqual(second, want, "the weights of the second");
  },
);

/** Waits for everyone's window and gives all the mean. */
class Meeting {
  readonly #size: number;
  #waiting: { readonly window: Tensors; readonly resolve: (mean: Tensors) => void }[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  mean(window: Tensors): Promise<Tensors> {
    return new Promise((resolve) => {
      this.#waiting.push({ window, resolve });
      if (this.#waiting.length < this.#size) return;
      const all = this.#waiting;
      this.#waiting = [];
      const mean = Object.fromEntries(
        Object.entries(window).map(([slot, { shape, data }]) => {
          const sum = new Float32Array(data.length);
          for (const { window: other } of all) {
            const { data: terms } = other[slot] as HostTensor;
            for (let at = 0; at < sum.length; at++)
              sum[at] = (sum[at] as number) + Number(terms[at]) / all.length;
          }
          return [slot, tensor(sum, shape)];
        }),
      );
      for (const { resolve: give } of all) give(mean);
    });
  }
}

const failingHook: ConformanceCase = scenarioCase<readonly unknown[]>(
  "all-reduce/hook/a-failure-leaves-nothing",
  (backend) => {
    let fails = true;
    const allReduce: AllReduce = (window) =>
      fails ? Promise.reject(new MpError("MP_IO", "the wire broke")) : Promise.resolve(window);
    return withTrainer<WeightsOf, Fed, NoModel, readonly unknown[]>(
      backend,
      { params: { w: filled([2], 0) }, loss: linear, optimizer: exactSgd(), precision: float32(), allReduce },
      async ({ training }) => {
        await expectCode("MP_IO", "a step whose hook fails", () => training.step({ x: vector(1, 2) }));
        fails = false;
        const { applied } = await training.step({ x: vector(3, 4) });
        return [applied, Array.from((await training.parameters()).w.data)];
      },
    );
  },
  ([applied, w]) => expectEqual([applied, w], [true, [-0.375, -0.5]], "the step after, and the weights"),
);

export const windowCases: readonly ConformanceCase[] = [
  ...sums,
  ...spoilt,
  inF32,
  masks,
  ...misuse,
  ...hooks,
  ranks,
  failingHook,
];
