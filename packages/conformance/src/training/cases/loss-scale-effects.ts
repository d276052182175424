/** Tests the effect of loss scales on gradients below the range of float16. */
import { mixedFloat16, noLossScaling, staticLossScale } from "@mp/core";
import type { Tensor } from "@mp/graph";
import { mul } from "@mp/graph/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual } from "../../expectations.js";
import { exactSgd, type Fed, fill, type NoModel, product, type WeightsOf } from "../problems.js";
import { trainerCase } from "../trainer-case.js";

/** A case with dL/dw = 2^-26, which rounds to 0 in f16 without a scale and is right with one. */
function underflowCase(behaviour: string, scale: number, want: number): ConformanceCase {
  const lossScaler = scale === 1 ? noLossScaling() : staticLossScale(scale);
  return trainerCase<WeightsOf, Fed, NoModel, number>(
    `loss-scale/${behaviour}`,
    {
      params: { w: fill([1, 1], 0) },
      loss: (weights, batch, context) => {
        const y = product(weights, batch, context) as Tensor;
        // Two factors, since neither constant alone may underflow.
        return mul(mul(y, 2 ** -16), 2 ** -10);
      },
      optimizer: exactSgd(1),
      precision: { ...mixedFloat16(), lossScaler },
    },
    async ({ training }) => {
      await training.step({ x: fill([1, 1], 1) });
      return Number((await training.parameters()).w.data[0]);
    },
    (got) => expectEqual(got, want, `a weight after a gradient of 2^-26 at scale ${scale}`),
  );
}

export const lossScaleEffectCases: readonly ConformanceCase[] = [
  underflowCase("f16/without-a-scale-small-gradients-are-lost", 1, 0),
  underflowCase("f16/with-a-scale-they-are-not", 2 ** 16, -(2 ** -26)),
];
