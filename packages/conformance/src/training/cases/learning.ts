/**
 * Least squares problems that need one technique. With the technique the task is learned; without it the weights do not
 * move at all. They show the effect of gradients below float16's range and of updates below its precision, as a real
 * network may have.
 */
import {
  dynamicLossScale,
  type LossFunction,
  type LossScaler,
  mixedFloat16,
  noLossScaling,
  noMasterWeights,
  type Precision,
  staticLossScale,
} from "@mp/core";
import type { HostTensor, Tensor } from "@mp/graph";
import { cast, constant, matMul, mul, reduceSum, sub } from "@mp/graph/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import { fresh } from "../../fresh.js";
import { exactSgd, type Fed, fill, type NoModel, vector, type WeightsOf } from "../problems.js";
import { trainerCase } from "../trainer-case.js";

interface Task {
  readonly start: HostTensor<"f32">;
  readonly target: HostTensor<"f32">;
  /** Factor of the squared errors. */
  readonly weight: number;
  readonly learningRate: number;
  readonly steps: number;
}

/** Each step halves every error. Gradients are at most 2^-25 and round to 0 in f16. */
const SMALL_GRADIENTS: Task = {
  start: fill([1, 4], 0),
  target: vector(1, -2, 3, -4),
  weight: 2 ** -28,
  learningRate: 2 ** 26,
  steps: 12,
};

/** Updates are at most 2^-8, half an ulp of f16 at 8, so adding them in f16 has no effect. */
const SMALL_UPDATES: Task = {
  start: fill([1, 4], 8),
  target: vector(8.0625, 8.015625, 8.03125, 8.046875),
  weight: 2 ** -1,
  learningRate: 2 ** -4,
  steps: 40,
};

interface Learned {
  readonly losses: readonly number[];
  readonly weights: readonly number[];
}

const identity = (): HostTensor<"f32"> => {
  const matrix = fill([4, 4], 0);
  for (let row = 0; row < 4; row++) matrix.data[5 * row] = 1;
  return matrix;
};

/** A case that learns a task; the weights are multiplied by the identity in f16. */
function learningCase(
  id: string,
  task: Task,
  changes: Partial<Precision>,
  check: (learnt: Learned) => void,
): ConformanceCase {
  const { start, target, weight, learningRate, steps } = task;
  const loss: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }) => {
    const error: Tensor = sub(cast(matMul(w, x), "f32"), constant(fresh(target)));
    return reduceSum(mul(mul(error, error), weight));
  };
  return trainerCase<WeightsOf, Fed, NoModel, Learned>(
    id,
    {
      params: { w: fresh(start) },
      loss,
      optimizer: exactSgd(learningRate),
      precision: { ...mixedFloat16(), ...changes },
    },
    async ({ training }) => {
      const losses: number[] = [];
      for (let step = 0; step < steps; step++) losses.push((await training.step({ x: identity() })).loss);
      return { losses, weights: Array.from((await training.parameters()).w.data) };
    },
    check,
  );
}

const learns = ({ losses }: Learned): void => {
  const [first = 0, last = 0] = [losses[0], losses.at(-1)];
  expectThat(last < first / 50, `the loss went from ${first} to ${last}, want less than a fiftieth`);
};

const staysAt =
  ({ start }: Task) =>
  ({ weights }: Learned): void =>
    expectEqual(weights, Array.from(start.data), "weights that no update reaches");

const withScaler = (lossScaler: LossScaler): Partial<Precision> => ({ lossScaler });

export const learningCases: readonly ConformanceCase[] = [
  learningCase(
    "loss-scale/f16/learns-nothing-without-a-scale",
    SMALL_GRADIENTS,
    withScaler(noLossScaling()),
    staysAt(SMALL_GRADIENTS),
  ),
  learningCase(
    "loss-scale/f16/learns-at-a-static-scale",
    SMALL_GRADIENTS,
    withScaler(staticLossScale(2 ** 16)),
    learns,
  ),
  learningCase(
    "loss-scale/f16/learns-at-a-dynamic-scale",
    SMALL_GRADIENTS,
    withScaler(dynamicLossScale({})),
    learns,
  ),
  learningCase(
    "master-weights/none-f16/learns-nothing-from-small-updates",
    SMALL_UPDATES,
    { ...withScaler(staticLossScale(1)), masterWeights: noMasterWeights("f16") },
    staysAt(SMALL_UPDATES),
  ),
  learningCase(
    "master-weights/f32/learns-from-small-updates",
    SMALL_UPDATES,
    withScaler(staticLossScale(1)),
    learns,
  ),
];
