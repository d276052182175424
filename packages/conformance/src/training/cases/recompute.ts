/** Gradient checkpointing. The backward pass recomputes exactly what the forward pass computed. */
import { float32, type LossFunction } from "@mp/core";
import { foldIn, remat, type Tensor } from "@mp/graph";
import { mul, randomBernoulli, reduceSum, where } from "@mp/graph/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import { exactSgd, type Fed, fill, type NoModel, vector, type WeightsOf } from "../problems.js";
import { scenarioCase } from "../scenario.js";
import { withTrainer } from "../session.js";

const COUNT = 20;

/**
 * Σ mask · w, with powers of two for w. The loss shows the forward mask in binary; the gradient is the backward mask.
 */
const sumMasks: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }, { key }) => {
  const layer = remat((weights: Tensor) => {
    const mask = randomBernoulli(foldIn(key, "mask"), 0.5, [COUNT]);
    return where(mask, mul(weights, x), 0);
  });
  return reduceSum(layer(w));
};

interface Masks {
  readonly forward: readonly number[];
  readonly backward: readonly number[];
}

const masks: ConformanceCase = scenarioCase<readonly Masks[]>(
  "remat/dropout/draws-the-same-masks-again",
  (backend) => {
    const powers = Array.from({ length: COUNT }, (_, at) => 2 ** at);
    return withTrainer<WeightsOf, Fed, NoModel, Masks[]>(
      backend,
      // A gradient of 1 moves a weight by 1, and the weights are reset before the next step.
      { params: { w: vector(...powers) }, loss: sumMasks, optimizer: exactSgd(1), precision: float32() },
      async ({ training, state }) => {
        const seen: Masks[] = [];
        for (let step = 0; step < 4; step++) {
          await state.write({ "master/w": vector(...powers) });
          const { loss } = await training.step({ x: fill([COUNT], 1) });
          const after = (await training.parameters()).w.data;
          seen.push({
            forward: powers.map((_, at) => Math.floor(loss / 2 ** at) % 2),
            backward: powers.map((power, at) => power - (after[at] as number)),
          });
        }
        return seen;
      },
    );
  },
  (seen, want) => {
    seen.forEach(({ forward, backward }, step) => {
      expectEqual(
        backward,
        forward,
        `the mask of the backward pass of step ${step}, beside that of the forward pass`,
      );
    });
    expectEqual(seen, want, "the masks of four steps");
    expectThat(
      new Set(seen.map(({ forward }) => forward.join(""))).size > 1,
      "every step draws the same mask",
    );
  },
);

export const recomputeCases: readonly ConformanceCase[] = [masks];
