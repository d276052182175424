/** Retries of a step on the same batch after an overflow. */
import { dynamicLossScale, float32, type LossFunction, type Precision, type StepResult } from "@mp/core";
import { foldIn } from "@mp/graph";
import { mul, randomBernoulli, reduceSum, where } from "@mp/graph/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import { exactSgd, type Fed, fill, type NoModel, type WeightsOf } from "../problems.js";
import { type Scenario, scenarioCase } from "../scenario.js";
import { withTrainer } from "../session.js";

const startingAt = (initialScale: number): Precision => ({
  ...float32(),
  lossScaler: dynamicLossScale({ initialScale, growthInterval: 1000 }),
});

/** A loss whose gradient is mask · x, so that w shows which masks were drawn. */
const maskLoss: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }, { key }) =>
  reduceSum(mul(mul(w, 2 ** -100), where(randomBernoulli(foldIn(key, "mask"), 0.5, x.shape), x, 0)));

interface Masked {
  readonly steps: readonly StepResult[];
  readonly w: readonly number[];
}

const HUGE = 2 ** 110;

/** Runs once with an initial scale that is too high, and once from 1. */
const play: Scenario<readonly [Masked, Masked]> = async (backend) => {
  const run = (scale: number): Promise<Masked> =>
    withTrainer<WeightsOf, Fed, NoModel, Masked>(
      backend,
      {
        params: { w: fill([32], 0) },
        loss: maskLoss,
        optimizer: exactSgd(2 ** -10),
        precision: startingAt(scale),
        onOverflow: "retry",
        seed: 4,
      },
      async ({ training }) => {
        const steps: StepResult[] = [];
        for (const size of [HUGE, HUGE / 2, HUGE]) steps.push(await training.step({ x: fill([32], size) }));
        return { steps, w: Array.from((await training.parameters()).w.data) };
      },
    );
  return [await run(2 ** 24), await run(1)];
};

export const overflowCases: readonly ConformanceCase[] = [
  // From 2^18 on 2^110 · scale overflows. A run with a low initial scale never retries, and must end in the same state.
  scenarioCase<readonly [Masked, Masked]>(
    "retry/same-batch/draws-the-same-masks",
    play,
    ([retried, plain]) => {
      expectThat(
        (retried.steps[0]?.retries ?? 0) > 0,
        "the first batch fitted at once, and the case shows nothing",
      );
      expectEqual(
        plain.steps.map((step) => step.retries),
        [0, 0, 0],
        "retries of the run that begins low",
      );
      expectEqual(retried.w, plain.w, "weights of a run with retries, beside one without");
      expectThat(new Set(retried.w).size > 2, "every step drew the same mask");
    },
  ),
];
