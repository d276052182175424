/** Repeated training gives the same bits if the manifest says so. */
import { float32, mixedFloat16, momentum, type Precision } from "@mp/core";
import { isDeterministic } from "../../cases/determinism.js";
import type { Tensors } from "../../cases/kinds/graph-case.js";
import { compareAtScale } from "../../compare/graph-allowance.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { fail } from "../../expectations.js";
import { perceptron } from "../models.js";
import { scenarioCase } from "../scenario.js";
import { withTrainer } from "../session.js";

export const trainingDeterminismCases: readonly ConformanceCase[] = (
  [
    ["float32", float32],
    ["mixed-float16", mixedFloat16],
  ] as readonly (readonly [string, () => Precision])[]
).map(([name, precision]) =>
  scenarioCase<readonly Tensors[]>(
    `determinism/training/${name}`,
    async (backend, { create }) => {
      const { params, modelState, loss, batch } = perceptron;
      const optimizer = momentum({ learningRate: 0.1 });
      const states: Tensors[] = [];
      for (const one of [backend, backend, await create()]) {
        const options = {
          params: params(),
          modelState: modelState(),
          loss,
          optimizer,
          precision: precision(),
          seed: 5,
        };
        const state = await withTrainer(one, options, async ({ training, snapshot }) => {
          for (let step = 0; step < 6; step++) await training.step(batch(step) as never);
          return snapshot();
        });
        states.push(state);
      }
      return states;
    },
    ([first = {}, ...others], _want, manifest) => {
      const relative = isDeterministic(manifest) ? 0 : 1e-2;
      for (const state of others) {
        for (const [slot, want] of Object.entries(first)) {
          const mismatch = compareAtScale(state[slot], want, relative);
          if (mismatch !== undefined) fail(`the same training once more: ${slot} ${mismatch}`);
        }
      }
    },
  ),
);
