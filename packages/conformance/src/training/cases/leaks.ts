/** Training must not take more and more memory. */
import { adam, float32 } from "@mp/core";
import type { BackendStats } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual } from "../../expectations.js";
import { generate } from "../../host-data.js";
import { perceptron } from "../models.js";
import { exactSgd, type Fed, fill, linear, type NoModel, type WeightsOf } from "../problems.js";
import { scenarioCase } from "../scenario.js";
import { withTrainer } from "../session.js";

const same =
  (what: string) =>
  ([early, late]: readonly BackendStats[]): void =>
    expectEqual(late, early, `stats ${what}`);

export const trainingLeakCases: readonly ConformanceCase[] = [
  scenarioCase<readonly BackendStats[]>(
    "leak/training/200-steps",
    (backend) => {
      const { params, modelState, loss, batch } = perceptron;
      const optimizer = adam({ learningRate: 0.01 });
      return withTrainer(
        backend,
        { params: params(), modelState: modelState(), loss, optimizer, precision: float32() },
        async ({ training }) => {
          const seen: BackendStats[] = [];
          for (let step = 0; step < 200; step++) {
            await training.step(batch(step) as never);
            if (step === 9 || step === 199) seen.push(backend.stats());
          }
          return seen;
        },
      );
    },
    same("after 200 steps, beside those after 10"),
  ),
  scenarioCase<readonly BackendStats[]>(
    "leak/training/skipped-and-refused-steps",
    (backend) =>
      withTrainer<WeightsOf, Fed, NoModel, readonly BackendStats[]>(
        backend,
        { params: { w: fill([3], 0) }, loss: linear, optimizer: exactSgd(), precision: float32() },
        async ({ training }) => {
          const seen: BackendStats[] = [];
          for (let step = 0; step < 40; step++) {
            await training.step({ x: fill([3], step % 2 === 0 ? 1 : Number.NaN) });
            await training.step({ x: generate("i32", [3], () => 1) }).catch(() => undefined);
            if (step === 4 || step === 39) seen.push(backend.stats());
          }
          return seen;
        },
      ),
    same("after 40 skipped and refused steps, beside those after 5"),
  ),
  scenarioCase<readonly BackendStats[]>(
    "leak/training/trainers-made-and-disposed",
    async (backend) => {
      const seen: BackendStats[] = [];
      for (let turn = 0; turn < 6; turn++) {
        await withTrainer<WeightsOf, Fed, NoModel, void>(
          backend,
          {
            params: { w: fill([3], 0) },
            loss: linear,
            optimizer: exactSgd(),
            precision: float32(),
            accumulate: 2,
          },
          async ({ training }) => {
            await training.step({ x: fill([3], 1) }, { x: fill([3], 1) });
            await training.evaluate({ x: fill([3], 1) });
          },
        );
        if (turn === 0 || turn === 5) seen.push(backend.stats());
      }
      return seen;
    },
    same("after six trainers, beside those after one"),
  ),
  // Compilations are cached by shape, up to eight, so the ninth frees the first.
  scenarioCase<readonly number[]>(
    "leak/training/many-batch-shapes",
    (backend) =>
      withTrainer<WeightsOf, Fed, NoModel, readonly number[]>(
        backend,
        { params: { w: fill([1], 0) }, loss: linear, optimizer: exactSgd(), precision: float32() },
        async ({ training }) => {
          const live: number[] = [];
          for (let size = 1; size <= 20; size++) {
            await training.step({ x: fill([size], 1) });
            live.push(backend.stats().live);
          }
          return live;
        },
      ),
    (live) => expectEqual(live.at(-1), live[11], "live things after 20 shapes, beside those after 12"),
  ),
];
