/** Gradient checkpointing: the backward pass recomputes exactly what the forward pass computed. */
import { float32, foldIn, type HostTensor, type LossFunction, remat, type Tensor, tensor } from "@mp/core";
import { add, matMul, mul, randomBernoulli, reduceSum, tanh, where } from "@mp/core/ops";
import { compareAtScale } from "../../compare/graph-allowance.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat, fail } from "../../expectations.js";
import { exactSgd, type Fed, filled, type NoModel, vector, type WeightsOf } from "../../training/problems.js";
import { scenarioCase } from "../../training/scenario.js";
import { withTrainer } from "../../training/session.js";

const COUNT = 20;

/** Σ mask · w, with w powers of two: the loss is the forward mask in binary, the gradient is the backward mask. */
const maskedSum: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }, { key }) => {
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
      { params: { w: vector(...powers) }, loss: maskedSum, optimizer: exactSgd(1), precision: float32() },
      async ({ training, state }) => {
        const seen: Masks[] = [];
        for (let step = 0; step < 4; step++) {
          await state.write({ "master/w": vector(...powers) });
          const { loss } = await training.step({ x: filled([COUNT], 1) });
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

type Deep = { readonly layers: readonly HostTensor<"f32">[] };

const deep = (): Deep => ({
  layers: [0, 1, 2, 3].map((layer) =>
    tensor(
      Float32Array.from({ length: 36 }, (_, at) => Math.sin(at * 1.3 + layer) / 2),
      [6, 6],
    ),
  ),
});

const deepLoss =
  (
    wrap: (fn: (x: Tensor, ...weights: readonly Tensor[]) => Tensor) => typeof fn,
  ): LossFunction<Deep, Fed, NoModel> =>
  ({ layers: [a, b, c, d] }, { x }) => {
    const block = wrap((input, ...weights) =>
      weights.reduce((y, weight) => add(y, tanh(matMul(y, weight))), input),
    );
    return reduceSum(block(block(x, a as Tensor, b as Tensor), c as Tensor, d as Tensor));
  };

/** Recomputed or kept, the gradients are the same. */
const gradients: ConformanceCase = scenarioCase<readonly (readonly HostTensor[])[]>(
  "remat/block/gives-the-gradients-it-gives-without",
  async (backend) => {
    const run = (loss: LossFunction<Deep, Fed, NoModel>): Promise<readonly HostTensor[]> =>
      withTrainer<Deep, Fed, NoModel, readonly HostTensor[]>(
        backend,
        { params: deep(), loss, optimizer: exactSgd(), precision: float32() },
        async ({ training }) => {
          for (let step = 0; step < 2; step++) {
            await training.step({
              x: tensor(
                Float32Array.from({ length: 12 }, (_, at) => Math.cos(at)),
                [2, 6],
              ),
            });
          }
          return (await training.parameters()).layers;
        },
      );
    return [await run(deepLoss((fn) => remat(fn))), await run(deepLoss((fn) => fn))];
  },
  ([recomputed = [], kept = []], [want = []]) => {
    for (const [index, layer] of want.entries()) {
      const beside = compareAtScale(recomputed[index], kept[index] as HostTensor, 1e-6);
      if (beside !== undefined) fail(`layer ${index}, recomputed beside kept, ${beside}`);
      const mismatch = compareAtScale(recomputed[index], layer, 1e-5);
      if (mismatch !== undefined) fail(`layer ${index}, recomputed beside the oracle's, ${mismatch}`);
    }
  },
);

export const recomputeCases: readonly ConformanceCase[] = [masks, gradients];
