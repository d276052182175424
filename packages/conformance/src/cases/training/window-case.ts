/** Steps on windows of microbatches, with and without a hook. */
import {
  type AllReduce,
  float32,
  type HostTensor,
  type LossFunction,
  type LossScaler,
  type Precision,
  type StepResult,
} from "@mp/core";
import { add, mul, reduceSum } from "@mp/core/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import type { Tensors } from "../../graph-case.js";
import { exactSgd, type Fed, filled, vector, type WeightsOf } from "../../training/problems.js";
import { scenarioCase } from "../../training/scenario.js";
import { withTrainer } from "../../training/session.js";

type Counting = { readonly seen: HostTensor<"f32"> };

/** Its gradient is x; its model state counts the microbatches. */
const counting: LossFunction<WeightsOf, Fed, Counting> = ({ w }, { x }, { modelState }) => ({
  loss: reduceSum(mul(w, x)),
  metrics: { first: reduceSum(x) },
  modelState: { seen: add(modelState.seen, 1) },
});

/** The results of the steps. */
export interface Windowed {
  readonly steps: readonly StepResult[];
  readonly w: readonly number[];
  readonly seen: number;
  readonly snapshots: readonly Tensors[];
}

/** f32 with that scaler. */
export const scalerOf = (lossScaler: LossScaler): Precision => ({
  ...float32(),
  lossScaler,
});

export interface WindowOptions {
  readonly accumulate: number;
  readonly precision?: Precision;
  readonly allReduce?: AllReduce;
}

/** Steps on windows of batches, each batch two numbers. */
export function windowCase(
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

/** Four batches, and their mean. */
export const FOUR = [
  [1, 2],
  [3, -1],
  [0.5, 4],
  [-2, 8],
] as const;
const MEAN = [0.625, 3.25];
/** The weights after that many windows of the four batches. */
export const after = (steps: number): readonly number[] => MEAN.map((x) => -(2 ** -3) * x * steps);
