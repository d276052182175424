/** Every scaler, step by step through real training steps, compared with a model of it in plain TypeScript. */
import { dynamicLossScale, float32, mapTensors, type Optimizer, type StepResult } from "@mp/core";
import { mul } from "@mp/core/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual } from "../../expectations.js";
import { type Fed, filled, linear, type NoModel, vector, type WeightsOf } from "../../training/problems.js";
import { type RetryRules, type ScalerOptions, scalerTrace } from "../../training/scaler-model.js";
import { scenarioCase } from "../../training/scenario.js";
import { withTrainer } from "../../training/session.js";

/** A batch is the size of its gradient. It overflows where size · scale exceeds the range of f32. */
const GOOD = 1;
/** Overflows from a scale of 2 on; at 1 it is an ordinary batch with a finite loss. */
const BAD = 2 ** 127;
/** Overflows from a scale of 2^9 on. */
const LARGE = 2 ** 119;
const NEVER = Number.NaN;

const overflowsAt =
  (size: number) =>
  (scale: number): boolean =>
    !Number.isFinite(Math.fround(size * scale));

interface Transcript {
  readonly steps: readonly Pick<StepResult, "scale" | "applied" | "retries">[];
  readonly next: number;
  readonly counters: readonly [applied: number, iteration: number, skipped: number];
}

const SKIPPING: RetryRules = { onOverflow: "skip", maxRetries: 100 };

/** Changes nothing, so that the loss of a large batch stays finite. */
const STILL: Optimizer = {
  name: "still",
  init: () => ({}),
  update: (gradients, state) => ({ updates: mapTensors((gradient) => mul(gradient, 0), gradients), state }),
};

/** Trains on batches of those sizes. */
function traceCase(
  behaviour: string,
  options: ScalerOptions,
  sizes: readonly number[],
  rules: RetryRules = SKIPPING,
): ConformanceCase {
  const lossScaler = dynamicLossScale(options);
  return scenarioCase<Transcript>(
    `loss-scale/${behaviour}`,
    (backend) =>
      withTrainer<WeightsOf, Fed, NoModel, Transcript>(
        backend,
        {
          params: { w: filled([2], 0) },
          loss: linear,
          optimizer: STILL,
          precision: { ...float32(), lossScaler },
          maxConsecutiveSkips: 1000,
          ...rules,
        },
        async ({ training }) => {
          const steps: StepResult[] = [];
          for (const size of sizes) steps.push(await training.step({ x: vector(size, 1) }));
          const { applied, iteration, skipped, scale } = await training.counters();
          return { steps, next: scale, counters: [applied, iteration, skipped] };
        },
      ),
    (got) => {
      const want = scalerTrace(options, rules, sizes.map(overflowsAt));
      want.steps.forEach((step, index) => {
        const { scale, applied, retries } = got.steps[index] as StepResult;
        expectEqual({ scale, applied, retries }, step, `step ${index} of ${behaviour}`);
      });
      expectEqual(got.next, want.next, "the scale of the step to come");
      const applied = want.steps.filter((step) => step.applied).length;
      const counters = [applied, want.steps.length, want.steps.length - applied];
      expectEqual(got.counters, counters, "applied, iterations and skipped");
    },
  );
}

const times = (count: number, ...sizes: readonly number[]): readonly number[] =>
  Array.from({ length: count }, () => sizes).flat();

const base = { initialScale: 2 ** 10, growthInterval: 4 } as const;

export const scalerTraceCases: readonly ConformanceCase[] = [
  // flax and NNabla grow after N + 1.
  traceCase("growth/after-exactly-n-good-steps", base, times(13, GOOD)),
  traceCase("growth/an-overflow-restarts-the-count", base, [...times(3, GOOD), BAD, ...times(9, GOOD)]),
  traceCase("growth/an-interval-of-one", { ...base, growthInterval: 1 }, times(5, GOOD)),
  traceCase("growth/stops-at-the-cap", { ...base, growthInterval: 1, maxScale: 2 ** 12 }, times(6, GOOD)),
  // 3 · 2^k skips over the cap without equaling it.
  traceCase("growth/lands-on-the-cap", { initialScale: 3, growthInterval: 1, maxScale: 10 }, times(4, GOOD)),
  traceCase("growth/by-other-factors", { ...base, growthFactor: 4, backoffFactor: 0.25 }, [
    ...times(5, GOOD),
    BAD,
    ...times(5, GOOD),
  ]),
  // MXNet's new scale takes effect one step late.
  traceCase("backoff/takes-effect-at-once", base, [GOOD, BAD, GOOD, BAD, BAD, GOOD]),
  traceCase("backoff/finds-the-scale-that-holds", base, [...times(3, LARGE), ...times(10, LARGE)]),
  // jmp ignores a custom floor and goes down to 1.
  traceCase("backoff/keeps-a-floor-of-ones-own", { ...base, minScale: 2 ** 7 }, [
    ...times(6, BAD),
    GOOD,
    BAD,
  ]),
  traceCase("backoff/stops-at-one", { ...base, initialScale: 4 }, [...times(5, BAD), GOOD]),
  // Keras stays at infinity forever, torch reaches 0.
  traceCase("backoff/never-reaches-zero-or-infinity", { initialScale: 2 ** 24, growthInterval: 1 }, [
    ...times(3, GOOD),
    ...times(30, BAD),
    ...times(3, GOOD),
  ]),
  traceCase("backoff/a-persistent-nan-ends-at-the-floor", { ...base, initialScale: 8 }, [
    ...times(8, NEVER),
    ...times(5, GOOD),
  ]),
  traceCase("hysteresis/tolerates-before-it-backs-off", { ...base, hysteresis: 3 }, [
    BAD,
    BAD,
    GOOD,
    BAD,
    BAD,
    BAD,
    BAD,
    GOOD,
  ]),
  // Apex and TransformerEngine refill on every good step.
  traceCase("hysteresis/refills-on-a-good-step", { ...base, hysteresis: 2, refill: "on-good-step" }, [
    BAD,
    GOOD,
    BAD,
    GOOD,
    BAD,
    BAD,
    BAD,
    GOOD,
    BAD,
  ]),
  // Megatron refills when the scale grows.
  traceCase(
    "hysteresis/refills-on-growth",
    { ...base, growthInterval: 2, hysteresis: 2, refill: "on-growth" },
    [BAD, GOOD, BAD, BAD, GOOD, GOOD, BAD, GOOD, GOOD, BAD, BAD],
  ),
  traceCase("hysteresis/a-tolerated-overflow-restarts-the-count", { ...base, hysteresis: 2 }, [
    GOOD,
    GOOD,
    GOOD,
    BAD,
    ...times(5, GOOD),
  ]),
  traceCase("retry/until-the-batch-fits", base, [GOOD, LARGE, GOOD, LARGE], {
    onOverflow: "retry",
    maxRetries: 100,
  }),
  traceCase("retry/no-more-than-the-budget", base, [BAD, GOOD, NEVER, GOOD], {
    onOverflow: "retry",
    maxRetries: 3,
  }),
  // NNabla recurses until the stack overflows.
  traceCase("retry/a-persistent-nan-is-skipped", { ...base, initialScale: 8 }, [NEVER, GOOD, NEVER], {
    onOverflow: "retry",
    maxRetries: 100,
  }),
  traceCase("retry/spends-hysteresis-first", { ...base, hysteresis: 2 }, [LARGE, GOOD, LARGE], {
    onOverflow: "retry",
    maxRetries: 100,
  }),
];
