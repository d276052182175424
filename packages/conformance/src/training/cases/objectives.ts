/** Several losses on one state: each program commits its own part, whatever the others do. */

import { dynamicLossScale, float32, momentum, type StepResult, trainer } from "@mp/core";
import type { Backend, Tensor } from "@mp/graph";
import { add, constant, mul, reduceSum } from "@mp/graph/ops";
import type { Tensors } from "../../cases/kinds/graph-case.js";
import { EXACT } from "../../compare/allowance.js";
import { compareTensors } from "../../compare/compare-tensors.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { observingStates } from "../../delegate.js";
import { expectEqual, fail } from "../../expectations.js";
import { exactSgd, fill, vector } from "../problems.js";
import { scenarioCase } from "../scenario.js";

/** Two weights, one per objective. */
type Weights = { readonly a: Tensor; readonly b: Tensor };
/** `ofA` and `ofB` are factors of the two losses; ∞ makes a loss overflow. */
type Batch = { readonly x: Tensor; readonly ofA: Tensor; readonly ofB: Tensor };
type Results = { readonly a: StepResult; readonly b: StepResult };

interface Objectives {
  readonly steps: readonly Results[];
  /** The whole state after each step. */
  readonly snapshots: readonly Tensors[];
}

const ALL = Number.POSITIVE_INFINITY;

/** Makes steps with the given factors; a step has one microbatch per pair of factors. */
async function play(
  backend: Backend,
  accumulate: number,
  steps: readonly (readonly (readonly [ofA: number, ofB: number])[])[],
): Promise<Objectives> {
  const observed = observingStates(backend);
  const scaler = dynamicLossScale({ initialScale: 16, growthInterval: 100 });
  await using training = await trainer({
    backend: observed.backend,
    precision: float32(),
    onWarning: () => undefined,
    accumulate,
    params: { a: fill([2], 1), b: fill([2], 1) },
    modelState: { seen: vector(0, 0) },
    objectives: {
      a: {
        loss: ({ a, b }: Weights, { x, ofA }: Batch, { modelState }) => ({
          loss: mul(reduceSum(mul(mul(a, b), x)), ofA),
          modelState: { seen: add(modelState.seen, constant(vector(1, 0))) },
        }),
        params: { a: true },
        optimizer: momentum({ learningRate: 2 ** -3, momentum: 0.5 }),
        scaler,
      },
      b: {
        loss: ({ a, b }: Weights, { x, ofB }: Batch, { modelState }) => ({
          loss: mul(reduceSum(mul(mul(a, b), x)), ofB),
          modelState: { seen: add(modelState.seen, constant(vector(0, 1))) },
        }),
        params: { b: true },
        optimizer: exactSgd(),
        scaler,
      },
    },
  });
  const results: Results[] = [];
  const snapshots: Tensors[] = [];
  for (const microbatches of steps) {
    const batches = microbatches.map(([ofA, ofB], at) => ({
      x: vector(1 + at, -2),
      ofA: fill([], ofA),
      ofB: fill([], ofB),
    }));
    results.push(await training.step(...batches));
    const [state] = observed.states;
    if (state === undefined) throw new Error("internal: a trainer without a state");
    snapshots.push(await state.read());
  }
  return { steps: results, snapshots };
}

function expectOracle(got: Objectives, want: Objectives): void {
  expectEqual(
    got.steps.flatMap(({ a, b }) => [a.applied, a.scale, b.applied, b.scale]),
    want.steps.flatMap(({ a, b }) => [a.applied, a.scale, b.applied, b.scale]),
    "what the steps tell",
  );
  for (const [at, snapshot] of want.snapshots.entries()) {
    for (const [slot, tensor] of Object.entries(snapshot)) {
      const mismatch = compareTensors(got.snapshots[at]?.[slot], tensor, EXACT);
      if (mismatch !== undefined) fail(`after step ${at + 1}: ${slot} ${mismatch}`);
    }
  }
}

const whichApplied = ({ steps }: Objectives): readonly boolean[] =>
  steps.flatMap(({ a, b }) => [a.applied, b.applied]);

export const objectiveCases: readonly ConformanceCase[] = [
  scenarioCase<Objectives>(
    "objectives/skip/one-without-the-other",
    (backend) => play(backend, 1, [[[1, 1]], [[ALL, 1]], [[1, ALL]], [[ALL, ALL]], [[1, 1]]]),
    (got, want) => {
      const [yes, no] = [true, false];
      expectEqual(whichApplied(got), [yes, yes, no, yes, yes, no, no, no, yes, yes], "what was applied");
      expectOracle(got, want);
    },
  ),
  scenarioCase<Objectives>(
    "objectives/window/each-in-turn",
    (backend) =>
      play(backend, 2, [
        [
          [1, 1],
          [1, 1],
        ],
        [
          [1, 1],
          [ALL, 1],
        ],
        [
          [1, ALL],
          [1, 1],
        ],
        [
          [1, 1],
          [1, 1],
        ],
      ]),
    (got, want) => {
      expectEqual(whichApplied(got), [true, true, false, true, true, false, true, true], "what was applied");
      expectOracle(got, want);
    },
  ),
];
