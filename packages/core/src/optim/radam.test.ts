import { type Tensor, tensor } from "@mp/graph";
import { literal } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { runTraced } from "../../../graph/test/run-traced.js";
import { numbers, vector } from "../../test/updates-of.js";
import { adam } from "./adam.js";
import { nadam } from "./nadam.js";
import type { Optimizer } from "./optimizer.js";
import { radam } from "./radam.js";

describe("NAdam and RAdam", () => {
  it("are Adam after many steps, with the same bits or nearly so", () => {
    const zero = vector([0.3]);
    const at = (optimizer: Optimizer, step: number): number => {
      const data = { moment: zero, gradient: vector([0.3]), step: tensor(Int32Array.of(step), []) };
      const updates = runTraced(data, ({ moment, gradient, step }) => {
        const state = { mean: moment, square: moment, product: literal(0) };
        return optimizer.update(gradient, state, gradient, { step }).updates as Tensor;
      });
      return numbers(updates)[0] ?? Number.NaN;
    };
    for (const step of [100_000, 2 ** 31 - 2]) {
      const want = at(adam({ learningRate: 1 }), step);
      expect(at(radam({ learningRate: 1 }), step) / want).toBeCloseTo(1, 5);
      expect(at(nadam({ learningRate: 1 }), step) / want).toBeCloseTo(1, 5);
    }
  });
});
