/**
 * N steps give the same bits as k steps, saving, loading on a new backend and N - k steps, including counters and
 * randomness.
 */
import {
  adam,
  dynamicLossScale,
  float32,
  kahan,
  type LossScaler,
  type MasterWeights,
  mixedBfloat16,
  mixedFloat16,
  momentum,
  type Optimizer,
  type Precision,
  type StepResult,
  sgd,
  stochasticRounding,
  type TrainerOptions,
} from "@mp/core";
import type { Backend } from "@mp/graph";
import type { Tensors } from "../../cases/kinds/graph-case.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual } from "../../expectations.js";
import { type Model, perceptron, recurrent } from "../models.js";
import { scenarioCase } from "../scenario.js";
import { expectSameState, withTrainer } from "../session.js";

const TOTAL = 9;
const SAVED_AFTER = 4;

interface Resumed {
  readonly whole: Tensors;
  readonly parts: Tensors;
  readonly wholeSteps: readonly StepResult[];
  readonly partSteps: readonly StepResult[];
  readonly cursor: unknown;
}

interface Settings {
  readonly optimizer: Optimizer;
  readonly precision: Precision;
  readonly accumulate?: number;
}

function resumeCase<P, B, M>(behaviour: string, model: Model<P, B, M>, settings: Settings): ConformanceCase {
  const { params, modelState, loss, batch } = model;
  const { optimizer, precision, accumulate = 1 } = settings;
  const options = (): Omit<TrainerOptions<P, B, M>, "backend"> => ({
    params: params(),
    modelState: modelState(),
    loss,
    optimizer,
    precision,
    accumulate,
    seed: 8,
  });
  return scenarioCase<Resumed>(
    `resume/${behaviour}`,
    async (backend, { create }) => {
      type Training = Parameters<Parameters<typeof withTrainer<P, B, M, unknown>>[2]>[0]["training"];
      const steps = async (training: Training, from: number, to: number): Promise<StepResult[]> => {
        const results: StepResult[] = [];
        for (let step = from; step < to; step++) {
          const batches = Array.from({ length: accumulate }, (_, micro) => batch(step * accumulate + micro));
          results.push(await training.step(...(batches as never[])));
        }
        return results;
      };
      const [wholeSteps, whole, saved] = await withTrainer(
        backend,
        options(),
        async ({ training, snapshot }) => {
          const before = await steps(training, 0, SAVED_AFTER);
          const bytes = await training.saveBytes({ cursor: { epoch: 1, at: [SAVED_AFTER, null] } });
          const after = await steps(training, SAVED_AFTER, TOTAL);
          return [[...before, ...after], await snapshot(), bytes] as const;
        },
      );
      const fresh: Backend = await create();
      const [cursor, partSteps, parts] = await withTrainer(
        fresh,
        options(),
        async ({ training, snapshot }) => {
          // Nothing that the run did before loading may remain.
          await steps(training, 5, 6);
          const place = await training.loadBytes(saved);
          return [place, await steps(training, SAVED_AFTER, TOTAL), await snapshot()] as const;
        },
      );
      return { whole, parts, wholeSteps, partSteps, cursor };
    },
    ({ whole, parts, wholeSteps, partSteps, cursor }) => {
      expectEqual(partSteps, wholeSteps.slice(SAVED_AFTER), "the steps after resuming");
      expectSameState(parts, whole, "a resumed run beside one that was not interrupted");
      expectEqual(cursor, { epoch: 1, at: [SAVED_AFTER, null] }, "the place in the data");
    },
  );
}

const overflowing = (refill: "on-good-step" | "on-growth" = "on-good-step"): LossScaler =>
  dynamicLossScale({ initialScale: 2 ** 20, growthInterval: 3, hysteresis: 2, refill });

const storeBy = (masterWeights: MasterWeights): Precision => ({
  ...mixedBfloat16(),
  masterWeights,
});

export const resumeCases: readonly ConformanceCase[] = [
  resumeCase("float32/momentum-and-dropout", perceptron, {
    optimizer: momentum({ learningRate: 0.1 }),
    precision: float32(),
  }),
  resumeCase("mixed-float16/in-the-middle-of-hysteresis", perceptron, {
    optimizer: adam({ learningRate: 0.01 }),
    precision: { ...mixedFloat16(), lossScaler: overflowing("on-growth") },
  }),
  resumeCase("kahan-bf16/compensations", perceptron, {
    optimizer: sgd({ learningRate: 0.01 }),
    precision: storeBy(kahan("bf16")),
  }),
  resumeCase("stochastic-bf16/the-next-draws", perceptron, {
    optimizer: sgd({ learningRate: 0.01 }),
    precision: storeBy(stochasticRounding()),
  }),
  resumeCase("mixed-float16/windows-of-two", recurrent, {
    optimizer: momentum({ learningRate: 0.1 }),
    precision: { ...mixedFloat16(), lossScaler: overflowing() },
    accumulate: 2,
  }),
];
