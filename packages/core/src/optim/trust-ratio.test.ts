import { type HostTensor, type Tensor, type TensorTree, tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { runTrees } from "../../../graph/test/run-traced.js";
import { type HostTree, numbers, updatesOf, vector } from "../../test/updates-of.js";
import { lamb } from "./lamb.js";
import { lars } from "./lars.js";
import type { Optimizer } from "./optimizer.js";
import { clipByBlockRms } from "./root-mean-square.js";
import { scaleByTrustRatio } from "./trust-ratio.js";

describe("directions of whole parameters", () => {
  const sizesOf = (optimizer: Optimizer, weights: HostTree, gradients: HostTree): number[] => {
    const [updates] = updatesOf(optimizer, [gradients], [weights]);
    return Object.values(updates as Record<string, HostTensor>).map((each) => Math.hypot(...numbers(each)));
  };

  it("lamb and lars step by a share of each parameter's norm, and by the gradient where a norm is 0", () => {
    const weights = { a: vector([3, 4]), b: vector([0, 0]), c: vector([30, 40]) };
    const gradients = { a: vector([1e-3, 0]), b: vector([0.6, 0.8]), c: vector([1e6, 0]) };
    const [a, b, c] = sizesOf(lamb({ learningRate: 0.1 }), weights, gradients);
    expect(a).toBeCloseTo(0.5, 5);
    expect(b).toBeCloseTo(0.1 * Math.SQRT2, 5);
    expect(c).toBeCloseTo(5, 5);
    const shares = sizesOf(lars({ learningRate: 1, trustCoefficient: 0.1 }), weights, gradients);
    for (const [index, want] of [0.5, 1, 5].entries()) expect(shares[index]).toBeCloseTo(want, 5);
  });

  it("a norm above the range of f32 is given to be checked, where dividing by it would make the step 0", () => {
    const gradients = { w: vector([3e38, 3e38]) };
    for (const part of [scaleByTrustRatio(), clipByBlockRms(1)]) {
      const got = runTrees({ gradients, step: tensor(Int32Array.of(0), []) }, (inputs) => {
        const { gradients, step } = inputs as { gradients: TensorTree; step: Tensor };
        const { updates, rates = [] } = part.update(gradients, {}, gradients, { step });
        return { updates, rates };
      }) as { readonly rates: readonly HostTensor[] };
      expect(got.rates.map((norm) => numbers(norm))).toEqual([[Number.POSITIVE_INFINITY]]);
    }
  });
});
