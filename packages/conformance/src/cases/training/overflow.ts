/** Retries on the same batch, and the budget of skips. */
import {
  dynamicLossScale,
  float32,
  foldIn,
  type LossFunction,
  MpError,
  type Precision,
  type StepResult,
  staticLossScale,
} from "@mp/core";
import { mul, randomBernoulli, reduceSum, where } from "@mp/core/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat, fail } from "../../expectations.js";
import {
  exactSgd,
  type Fed,
  filled,
  linear,
  type NoModel,
  vector,
  type WeightsOf,
} from "../../training/problems.js";
import { type Scenario, scenarioCase } from "../../training/scenario.js";
import { withTrainer } from "../../training/session.js";

const startingAt = (initialScale: number): Precision => ({
  ...float32(),
  lossScaler: dynamicLossScale({ initialScale, growthInterval: 1000 }),
});

/** The gradient is the mask times x, and the update adds it to w, so w shows which masks were drawn. */
const masked: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }, { key }) =>
  reduceSum(mul(mul(w, 2 ** -100), where(randomBernoulli(foldIn(key, "mask"), 0.5, x.shape), x, 0)));

interface Masked {
  readonly steps: readonly StepResult[];
  readonly w: readonly number[];
}

const HUGE = 2 ** 110;

/** One run with too high an initial scale, one that starts at 1. */
const play: Scenario<readonly [Masked, Masked]> = async (backend) => {
  const run = (scale: number): Promise<Masked> =>
    withTrainer<WeightsOf, Fed, NoModel, Masked>(
      backend,
      {
        params: { w: filled([32], 0) },
        loss: masked,
        optimizer: exactSgd(2 ** -10),
        precision: startingAt(scale),
        onOverflow: "retry",
        seed: 4,
      },
      async ({ training }) => {
        const steps: StepResult[] = [];
        for (const size of [HUGE, HUGE / 2, HUGE]) steps.push(await training.step({ x: filled([32], size) }));
        return { steps, w: Array.from((await training.parameters()).w.data) };
      },
    );
  return [await run(2 ** 24), await run(1)];
};

const retries: readonly ConformanceCase[] = [
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
  scenarioCase<readonly [Masked, Masked]>("retry/same-batch/is-one-iteration", play, ([retried]) => {
    expectEqual(
      retried.steps.map(({ applied }) => applied),
      [true, true, true],
      "which steps are applied in the end",
    );
    expectEqual(
      retried.steps.slice(1).map((step) => step.retries),
      [0, 0],
      "retries once the scale has come down",
    );
  }),
];

interface Budget {
  readonly codes: readonly string[];
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly afterwards: StepResult;
  readonly w: readonly number[];
  readonly counters: Readonly<Record<string, number>>;
}

/** Steps on batches that overflow at any scale, then on a good one. */
function budgetCase(
  behaviour: string,
  loss: LossFunction<WeightsOf, Fed, NoModel>,
  bad: number,
  check: (got: Budget) => void,
  precision: Precision = startingAt(4),
): ConformanceCase {
  return scenarioCase<Budget>(
    `skip-budget/${behaviour}`,
    (backend) =>
      withTrainer<WeightsOf, Fed, NoModel, Budget>(
        backend,
        {
          params: { w: vector(1, 1) },
          loss,
          optimizer: exactSgd(),
          precision,
          maxConsecutiveSkips: 3,
        },
        async ({ training }) => {
          const codes: string[] = [];
          let last: MpError | undefined;
          for (let step = 0; step < 5; step++) {
            try {
              codes.push((await training.step({ x: vector(bad, 1) })).applied ? "applied" : "skipped");
            } catch (error) {
              // If a backend cannot run something, it refuses the whole case; that is not an outcome of a step.
              if (!MpError.is(error) || error.code === "MP_UNSUPPORTED") throw error;
              // Neither is the search for the cause, without which the step reports the rest.
              if (MpError.is(error.cause, "MP_UNSUPPORTED")) throw error.cause;
              last ??= error;
              codes.push(error.code);
            }
          }
          const afterwards = await training.step({ x: vector(1, 1) });
          const { applied, iteration, skipped } = await training.counters();
          return {
            codes,
            message: last?.message ?? "",
            details: last?.details ?? {},
            afterwards,
            w: Array.from((await training.parameters()).w.data),
            counters: { applied, iteration, skipped },
          };
        },
      ),
    (got) => {
      const codes = ["skipped", "skipped", "skipped", "MP_NON_FINITE", "MP_NON_FINITE"];
      expectEqual(got.codes, codes, "what five bad batches come to with a budget of three skips");
      expectEqual(got.afterwards.applied, true, "whether a good batch is applied after the error");
      check(got);
    },
  );
}

interface Attributed {
  readonly value?: unknown;
  readonly op?: unknown;
  readonly phase?: unknown;
}

function expectAttribution({ details, message }: Budget, want: Attributed): void {
  const { attribution } = details as { readonly attribution?: Attributed };
  if (attribution === undefined) fail(`the error names no culprit: ${message}`);
  for (const [key, value] of Object.entries(want)) {
    expectEqual(attribution[key as keyof Attributed], value, `the ${key} of the culprit`);
  }
  expectThat(
    message.includes(String(attribution.value)),
    `the message does not name ${attribution.value}: ${message}`,
  );
}

const budgets: readonly ConformanceCase[] = [
  // optax's apply_if_finite applies the update once its limit is reached.
  budgetCase("exhausted/never-lets-the-update-through", linear, Number.POSITIVE_INFINITY, (got) => {
    expectEqual(got.w, [0.875, 0.875], "the weights, which only the good batch moved");
    expectEqual(got.counters, { applied: 1, iteration: 6, skipped: 5 }, "the counters");
  }),
  budgetCase("nan-data/names-the-input", linear, Number.NaN, (got) => {
    expectAttribution(got, { value: "batch/x", phase: "input" });
    expectEqual(got.counters, { applied: 1, iteration: 6, skipped: 5 }, "the counters");
    expectEqual(got.w, [0.875, 0.875], "the weights, which only the good batch moved");
  }),
  budgetCase(
    "forward-overflow/names-the-op",
    ({ w }, { x }) => reduceSum(mul(w, mul(x, x))),
    2 ** 100,
    (got) => {
      expectAttribution(got, { op: "Mul", phase: "forward" });
    },
  ),
  // The scale is too high; the forward pass is finite.
  budgetCase(
    "backward-overflow/names-the-backward-pass",
    linear,
    2 ** 100,
    (got) => {
      expectAttribution(got, { op: "Mul", phase: "backward" });
    },
    { ...float32(), lossScaler: staticLossScale(2 ** 60) },
  ),
];

export const overflowCases: readonly ConformanceCase[] = [...retries, ...budgets];
