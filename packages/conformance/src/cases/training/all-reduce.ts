/** The all-reduce hook: windows of several processes form one step. */
import { type AllReduce, dynamicLossScale, float32, type HostTensor, MpError, tensor } from "@mp/core";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectCode, expectEqual } from "../../expectations.js";
import type { Tensors } from "../../graph-case.js";
import {
  exactSgd,
  type Fed,
  filled,
  linear,
  type NoModel,
  vector,
  type WeightsOf,
} from "../../training/problems.js";
import { scenarioCase } from "../../training/scenario.js";
import { withTrainer } from "../../training/session.js";
import { FOUR, scalerOf, windowCase } from "./window-case.js";

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
  windowCase(
    "all-reduce/hook/gets-and-gives-gradients",
    { accumulate: 2, allReduce: mapped((slot, x) => (isGradient(slot) ? x.map((g) => 2 * g) : x)) },
    [FOUR.slice(0, 2)],
    ({ w }) => {
      expectEqual(w, [-0.5, -0.125], "the weights after a hook that doubles");
    },
  ),
  windowCase(
    "all-reduce/hook/works-without-accumulation",
    { accumulate: 1, allReduce: mapped((_, x) => x) },
    [[FOUR[0]], [FOUR[1]]],
    ({ w, seen }) => {
      expectEqual([w, seen], [[-0.5, -0.125], 2], "weights and model state after two steps");
    },
  ),
  // Another process overflowed: this one must skip too, though its own gradients were finite.
  windowCase(
    "all-reduce/hook/another-process-overflows",
    {
      accumulate: 2,
      allReduce: mapped((slot, x) =>
        isGradient(slot) ? x.map((g, at) => (at === 1 ? Number.POSITIVE_INFINITY : g)) : x,
      ),
      precision: scalerOf(dynamicLossScale({ initialScale: 16, growthInterval: 100 })),
    },
    [FOUR.slice(0, 2), FOUR.slice(0, 2)],
    ({ steps, w, seen }) => {
      expectEqual(
        steps.map(({ applied, scale }) => [applied, scale]),
        [
          [false, 16],
          [false, 8],
        ],
        "the windows",
      );
      expectEqual([w, seen], [[0, 0], 0], "weights and model state");
    },
  ),
  windowCase(
    "all-reduce/hook/another-process-lost-its-loss",
    { accumulate: 1, allReduce: mapped((slot, x) => (slot === "window/loss" ? x.map(() => Number.NaN) : x)) },
    [[FOUR[0]]],
    ({ steps, w }) => {
      expectEqual([steps[0]?.applied, w], [false, [0, 0]], "the step and the weights");
    },
  ),
];

/** Two processes on half of the batches each, compared with one on all of them. */
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

/** Waits for every process's window and gives all of them the mean. */
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

export const allReduceCases: readonly ConformanceCase[] = [...hooks, ranks, failingHook];
