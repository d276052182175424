/** The division by scale and number of microbatches, and the norm: the same step at every allowed scale. */
import {
  chain,
  clipByGlobalNorm,
  dynamicLossScale,
  float32,
  type LossScaler,
  type Optimizer,
  sgd,
  staticLossScale,
} from "@mp/core";
import { literal } from "@mp/core/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import { type Fed, filled, linear, type NoModel, vector, type WeightsOf } from "../../training/problems.js";
import { scenarioCase } from "../../training/scenario.js";
import { withTrainer } from "../../training/session.js";

/** A gradient of that many times [3, 4], so its norm is that many times 5. */
interface Setting {
  readonly scaler: LossScaler;
  readonly size: number;
}

const own = (scale: number): LossScaler => ({
  name: "own",
  init: () => ({}),
  scale: () => literal(scale),
  update: (state) => state,
});

/**
 * Sizes keep eight scaled gradients between 2^-126 and 2^128: what leaves the range of f32 before unscaling is tested
 * elsewhere.
 */
const settings: Readonly<Record<string, Setting>> = {
  "2-to-minus-126": { scaler: staticLossScale(2 ** -126), size: 1 },
  "2-to-minus-80": { scaler: staticLossScale(2 ** -80), size: 1 },
  one: { scaler: staticLossScale(1), size: 1 },
  "2-to-24": { scaler: staticLossScale(2 ** 24), size: 1 },
  "2-to-80": { scaler: staticLossScale(2 ** 80), size: 1 },
  "2-to-126": { scaler: staticLossScale(2 ** 126), size: 2 ** -6 },
  "a-dynamic-2-to-16": { scaler: dynamicLossScale(), size: 1 },
  "a-dynamic-2-to-minus-80": {
    scaler: dynamicLossScale({ initialScale: 2 ** -80, minScale: 2 ** -126 }),
    size: 1,
  },
  "2-to-126-of-ones-own": { scaler: own(2 ** 126), size: 2 ** -6 },
  "2-to-minus-126-of-ones-own": { scaler: own(2 ** -126), size: 1 },
};

interface Unscaled {
  readonly applied: boolean;
  readonly gradNorm: number;
  readonly w: readonly number[];
}

interface Options {
  readonly clipNorm?: number;
  readonly accumulate?: number;
  readonly optimizer?: Optimizer;
}

function unscalingCase(
  id: string,
  { scaler, size }: Setting,
  options: Options,
  shrunk: number,
): ConformanceCase {
  const { accumulate = 1, optimizer = sgd({ learningRate: 1 }), clipNorm } = options;
  return scenarioCase<Unscaled>(
    id,
    (backend) =>
      withTrainer<WeightsOf, Fed, NoModel, Unscaled>(
        backend,
        {
          params: { w: filled([2], 0) },
          loss: linear,
          optimizer,
          precision: { ...float32(), lossScaler: scaler },
          accumulate,
          ...(clipNorm === undefined ? {} : { clipNorm }),
        },
        async ({ training }) => {
          const batches = Array.from({ length: accumulate }, () => ({ x: vector(3 * size, 4 * size) }));
          const { applied, gradNorm } = await training.step(...batches);
          return { applied, gradNorm, w: Array.from((await training.parameters()).w.data) };
        },
      ),
    ({ applied, gradNorm, w }) => {
      expectEqual(applied, true, "whether the step is applied");
      const near = (got: number | undefined, want: number): boolean =>
        Math.abs((got ?? Number.NaN) - want) <= 1e-6 * Math.abs(want);
      expectThat(near(gradNorm, 5 * size), `the norm before clipping is ${gradNorm}, want ${5 * size}`);
      const want = [-3 * size * shrunk, -4 * size * shrunk];
      expectThat(
        want.every((x, at) => near(w[at], x)),
        `the weights are ${w.join(", ")}, want ${want.join(", ")}`,
      );
    },
  );
}

/** Half the norm, so that clipping halves the gradient. */
const limitOf = (size: number): number => 2.5 * size;

export const unscalingCases: readonly ConformanceCase[] = Object.entries(settings).flatMap(
  ([name, setting]) => {
    const { size } = setting;
    const caseOf = (behaviour: string, options: Options, shrunk = 1): ConformanceCase =>
      unscalingCase(`loss-scale/unscaling-${name}/${behaviour}`, setting, options, shrunk);
    const clipping = chain(clipByGlobalNorm(limitOf(size)), sgd({ learningRate: 1 }));
    return [
      caseOf("moves-as-without-a-scale", {}),
      caseOf("clips-the-unscaled-norm", { clipNorm: limitOf(size) }, 0.5),
      caseOf("leaves-a-norm-below-the-limit", { clipNorm: 8 * size }),
      caseOf("clips-alike-in-a-chain", { optimizer: clipping }, 0.5),
      caseOf("divides-by-eight-microbatches", { accumulate: 8 }),
      caseOf("divides-by-three-microbatches", { accumulate: 3 }),
      caseOf("clips-the-mean-of-a-window", { accumulate: 8, clipNorm: limitOf(size) }, 0.5),
    ];
  },
);
