/** Checkpoints of several ranks, which one rank writes and all read, with each rank's own part. */
import {
  adamW,
  float32,
  type LossFunction,
  mixedBfloat16,
  type Optimizer,
  type Precision,
  type StepResult,
  sgd,
  stochasticRounding,
  type TrainerOptions,
} from "@mp/core";
import type { Backend, HostTensor, Tensor } from "@mp/graph";
import { add, mul, reduceMean, reduceSum } from "@mp/graph/ops";
import type { Tensors } from "../../cases/kinds/graph-case.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual } from "../../expectations.js";
import { type Model, perceptron, recurrent } from "../models.js";
import { exactSgd, fill, vector, type WeightsOf } from "../problems.js";
import { scenarioCase } from "../scenario.js";
import { expectSameState, type withTrainer } from "../session.js";
import { together } from "../together.js";

const TOTAL = 6;
const SAVED_AFTER = 3;

interface Resumed {
  readonly whole: Tensors;
  readonly parts: Tensors;
  readonly wholeSteps: readonly StepResult[];
  readonly partSteps: readonly StepResult[];
  readonly cursor: unknown;
}

/** Compares two ranks that stop, save and resume with two that continue. Each rank has separate batches. */
function resumeCase<P, B, M>(
  behaviour: string,
  { params, modelState, loss, batch }: Model<P, B, M>,
  optimizer: Optimizer,
  precision: Precision,
): ConformanceCase {
  const options = (): Omit<TrainerOptions<P, B, M>, "backend" | "ranks"> => ({
    params: params(),
    modelState: modelState(),
    loss,
    optimizer,
    precision,
    seed: 8,
  });
  return scenarioCase<readonly Resumed[]>(
    `ranks/resume/${behaviour}`,
    async (backend, { create }) => {
      type Training = Parameters<Parameters<typeof withTrainer<P, B, M, unknown>>[2]>[0]["training"];
      const steps = async (
        training: Training,
        rank: number,
        from: number,
        to: number,
      ): Promise<StepResult[]> => {
        const results: StepResult[] = [];
        for (let step = from; step < to; step++)
          results.push(await training.step(batch(2 * step + rank) as never));
        return results;
      };
      const straight = await together(backend, options, async ({ training, snapshot }, rank) => {
        await steps(training, rank, 0, SAVED_AFTER);
        const bytes = await training.saveBytes({ cursor: { rank } });
        return { bytes, steps: await steps(training, rank, SAVED_AFTER, TOTAL), state: await snapshot() };
      });
      const fresh: Backend = await create();
      const resumed = await together(fresh, options, async ({ training, snapshot }, rank) => {
        await steps(training, rank, 5, 6);
        // Only the bytes of rank 0 are read, since other hosts may not have the file.
        const cursor = await training.loadBytes(
          rank === 0 ? (straight[1]?.bytes as Uint8Array) : new Uint8Array(1),
        );
        return { cursor, steps: await steps(training, rank, SAVED_AFTER, TOTAL), state: await snapshot() };
      });
      return straight.map((whole, rank) => ({
        whole: whole.state,
        wholeSteps: whole.steps,
        parts: resumed[rank]?.state ?? {},
        partSteps: resumed[rank]?.steps ?? [],
        cursor: resumed[rank]?.cursor,
      }));
    },
    (got) => {
      for (const [rank, { whole, parts, wholeSteps, partSteps, cursor }] of got.entries()) {
        expectEqual(partSteps, wholeSteps, `the steps of rank ${rank} after resuming`);
        expectSameState(parts, whole, `rank ${rank} of a resumed run`);
        expectEqual(cursor, { rank }, `the place of rank ${rank} in its data`);
      }
    },
  );
}

type Averaging = { readonly mean: HostTensor<"f32">; readonly seen: HostTensor<"f32"> };
type Row = { readonly x: Tensor };

/** A loss that keeps a running mean of x, as batch normalization does. */
const averaging: LossFunction<WeightsOf, Row, Averaging> = ({ w }, { x }, { modelState }) => ({
  loss: reduceSum(mul(w, x)),
  modelState: { mean: add(mul(modelState.mean, 0.5), reduceMean(x)), seen: add(modelState.seen, 1) },
});

const statistics = () => ({
  params: { w: fill([2], 0) },
  modelState: { mean: vector(0), seen: vector(0) },
  loss: averaging,
  optimizer: exactSgd(),
  precision: float32(),
});

const averaged: ConformanceCase = scenarioCase<readonly unknown[]>(
  "ranks/model-state/becomes-the-mean-in-each-step",
  async (backend) =>
    together<WeightsOf, Row, Averaging, unknown>(
      backend,
      () => ({ ...statistics(), averageModelState: true }),
      async ({ training }, rank) => {
        await training.step({ x: vector(1 + 4 * rank, 3 + 4 * rank) });
        await training.step({ x: vector(8 * rank, 8 * rank) });
        const { mean, seen } = await training.modelState();
        return [Array.from(mean.data), Array.from(seen.data)];
      },
    ),
  // First the mean of 2 and 6, which is 4; then that of 4 / 2 + 0 and 4 / 2 + 8.
  (got) =>
    expectEqual(
      got,
      [0, 1].map(() => [[6], [2]]),
      "the model states of the ranks",
    ),
);

export const rankResumeCases: readonly ConformanceCase[] = [
  resumeCase("adam-w-and-dropout", perceptron, adamW({ learningRate: 0.01 }), mixedBfloat16()),
  resumeCase("the-next-draws-of-stochastic-rounding", perceptron, sgd({ learningRate: 0.05 }), {
    ...mixedBfloat16(),
    masterWeights: stochasticRounding(),
  }),
  resumeCase("model-state-of-each-rank", recurrent, sgd({ learningRate: 0.1 }), float32()),
  averaged,
];
