/** A run of nearly 2^31 steps: its counters continue, and each step draws the same numbers as the oracle. */
import { float32, type LossFunction } from "@mp/core";
import { foldIn, type HostTensor, tensor } from "@mp/graph";
import { mul, randomBernoulli, reduceSum, where } from "@mp/graph/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import { exactSgd, type Fed, fill, type NoModel, type WeightsOf } from "../problems.js";
import { trainerCase } from "../trainer-case.js";

/** A loss whose gradient is mask · x, so that the weights show which masks were drawn. */
const maskLoss: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }, { key }) =>
  reduceSum(mul(w, where(randomBernoulli(foldIn(key, "mask"), 0.5, x.shape), x, 0)));

const SIZE = 64;
const STEPS = 3;
const STARTS = [2 ** 16 - 2, 2 ** 24 - 2, 2 ** 31 - 5];

const counter = (value: number): HostTensor => tensor(Int32Array.of(value), []);

interface Late {
  readonly weights: readonly (readonly number[])[];
  /** The counters of iterations and draws at the end of each run. */
  readonly counters: readonly string[];
}

export const lateCounterCases: readonly ConformanceCase[] = [
  trainerCase<WeightsOf, Fed, NoModel, Late>(
    "random/step/counters-go-on-to-2-to-the-31",
    {
      params: { w: fill([SIZE], 0) },
      loss: maskLoss,
      optimizer: exactSgd(1),
      precision: float32(),
      seed: 11,
    },
    async ({ training, state }) => {
      const weights: (readonly number[])[] = [];
      const counters: string[] = [];
      for (const start of STARTS) {
        await state.write({ iteration: counter(start), drawn: counter(start) });
        for (let step = 0; step < STEPS; step++) await training.step({ x: fill([SIZE], 2 ** step) });
        weights.push(Array.from((await training.parameters()).w.data));
        const { iteration, drawn } = await state.read(["iteration", "drawn"]);
        counters.push(`${iteration?.data[0]} ${drawn?.data[0]}`);
      }
      return { weights, counters };
    },
    (got, want) => {
      const ends = STARTS.map((start) => `${start + STEPS} ${start + STEPS}`);
      expectEqual(got.counters, ends, "iterations and draws of runs that began late");
      expectEqual(got.weights, want.weights, "weights, which show the masks");
      expectThat(new Set(got.weights.at(-1)).size > STEPS, "every step drew the same mask");
    },
  ),
];
