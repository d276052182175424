/** Tests the storage of weights: updates that are lost without master weights, and those that each method keeps. */
import {
  float32,
  kahan,
  type LossFunction,
  type MasterWeights,
  mixedBfloat16,
  mixedFloat16,
  noMasterWeights,
  type Precision,
  staticLossScale,
  stochasticRounding,
} from "@mp/core";
import { decode, encode, type HalfDType, key, type Tensor } from "@mp/graph";
import { setRandomCounter } from "@mp/graph/internal";
import { cast, literal, stochasticallyRounded } from "@mp/graph/ops";
import { graphCase } from "../../cases/kinds/graph-case.js";
import { EXACT } from "../../compare/allowance.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import { traceGraph } from "../../traced-graph.js";
import {
  exactSgd,
  type Fed,
  fill,
  linear,
  type NoModel,
  product,
  vector,
  type WeightsOf,
} from "../problems.js";
import { trainerCase } from "../trainer-case.js";

const STEPS = 20;
/** Half an ulp of 1, so that 1 plus this number is a tie and rounds to 1. */
const LOST: Readonly<Record<HalfDType, number>> = { f16: 2 ** -11, bf16: 2 ** -8 };

/** A case about the value of a weight of 1 after equal updates. */
function updatesCase(
  behaviour: string,
  precision: Precision,
  update: number,
  want: number,
  loss: LossFunction<WeightsOf, Fed, NoModel> = linear,
): ConformanceCase {
  return trainerCase<WeightsOf, Fed, NoModel, number>(
    `master-weights/${behaviour}`,
    { params: { w: fill([1, 1], 1) }, loss, optimizer: exactSgd(1), precision },
    async ({ training }) => {
      for (let step = 0; step < STEPS; step++) await training.step({ x: fill([1, 1], -update) });
      return Number((await training.parameters()).w.data[0]);
    },
    (got) => expectEqual(got, want, `a weight of 1 after ${STEPS} updates of ${update}`),
  );
}

const storeAs = (masterWeights: MasterWeights): Precision => ({
  ...float32(),
  masterWeights,
});

const withoutScale = (precision: Precision): Precision => ({
  ...precision,
  lossScaler: staticLossScale(1),
});

const lostUpdates: readonly ConformanceCase[] = (["f16", "bf16"] as const).flatMap((dtype) => [
  updatesCase(`none-${dtype}/loses-half-a-unit`, storeAs(noMasterWeights(dtype)), LOST[dtype], 1),
  updatesCase(
    `none-${dtype}/keeps-a-whole-unit`,
    storeAs(noMasterWeights(dtype)),
    2 * LOST[dtype],
    1 + 2 * STEPS * LOST[dtype],
  ),
  updatesCase(
    `kahan-${dtype}/keeps-half-a-unit`,
    storeAs(kahan(dtype)),
    LOST[dtype],
    1 + STEPS * LOST[dtype],
  ),
]);

const masters: readonly ConformanceCase[] = [
  updatesCase(
    "f32/keeps-half-a-unit-of-f16",
    withoutScale(mixedFloat16()),
    LOST.f16,
    1 + STEPS * LOST.f16,
    product,
  ),
  updatesCase("f32/keeps-half-a-unit-of-bf16", mixedBfloat16(), LOST.bf16, 1 + STEPS * LOST.bf16, product),
];

interface Seen {
  readonly losses: readonly number[];
  readonly evaluated: readonly number[];
}

/** The f16 or bf16 copy of a weight is renewed after each commit, for training and for evaluation. */
const fresh: readonly ConformanceCase[] = (
  [
    ["f16", mixedFloat16],
    ["bf16", mixedBfloat16],
  ] as const
).map(([name, make]) =>
  trainerCase<WeightsOf, Fed, NoModel, Seen>(
    `master-weights/${name}/the-copy-is-never-stale`,
    {
      params: { w: fill([1, 1], 8) },
      loss: product,
      optimizer: exactSgd(1),
      precision: withoutScale(make()),
    },
    async ({ training }) => {
      const [losses, evaluated]: [number[], number[]] = [[], []];
      for (let step = 0; step < 5; step++) {
        losses.push((await training.step({ x: fill([1, 1], 1) })).loss);
        evaluated.push((await training.evaluate({ x: fill([1, 1], 1) })).loss);
      }
      return { losses, evaluated };
    },
    ({ losses, evaluated }) => {
      expectEqual(losses, [8, 7, 6, 5, 4], "the losses, each from the weight that the step before left");
      expectEqual(evaluated, [7, 6, 5, 4, 3], "evaluations after each step");
    },
  ),
);

const COUNT = 4096;
const QUARTER = 2 ** -9;

/** An update of a quarter of bf16's ulp at 1 moves a quarter of the weights, by a whole ulp. */
const stochastic: readonly ConformanceCase[] = [
  trainerCase<WeightsOf, Fed, NoModel, { weights: Float32Array; later: Float32Array }>(
    "master-weights/stochastic/is-unbiased-and-in-bf16",
    {
      params: { w: fill([COUNT], 1) },
      loss: linear,
      optimizer: exactSgd(1),
      precision: { ...float32(), masterWeights: stochasticRounding() },
      seed: 11,
    },
    async ({ training }) => {
      const x = fill([COUNT], -QUARTER);
      await training.step({ x });
      const weights = (await training.parameters()).w.data;
      await training.step({ x });
      return { weights, later: (await training.parameters()).w.data };
    },
    ({ weights, later }, want) => {
      for (const weight of later) {
        expectThat(
          decode("bf16", encode("bf16", weight)) === weight,
          `a weight of ${weight} is no value of bf16`,
        );
      }
      const moved = weights.filter((weight) => weight === 1 + 2 ** -7).length;
      expectEqual(
        weights.filter((weight) => weight === 1).length + moved,
        COUNT,
        "the count of weights at 1 or one unit on",
      );
      // Six standard deviations of an unbiased draw; the seed is fixed.
      const slack = 6 * Math.sqrt(COUNT * 0.25 * 0.75);
      expectThat(Math.abs(moved - COUNT / 4) < slack, `${moved} of ${COUNT} weights moved, want a quarter`);
      const mean = later.reduce((sum, weight) => sum + weight, 0) / COUNT;
      expectThat(
        Math.abs(mean - (1 + 2 * QUARTER)) < 2 ** -10,
        `the mean after two updates is ${mean}, want ${1 + 2 * QUARTER}`,
      );
      expectEqual(Array.from(later), Array.from(want.later), "which weights moved");
    },
  ),
  graphCase("master-weights/stochastic/passes-what-needs-no-rounding", () => {
    const values = [
      0,
      -0,
      1,
      -1.5,
      2 ** -126,
      3.3895313892515355e38,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.NaN,
    ];
    return {
      graph: traceGraph({ x: { dtype: "f32", shape: [values.length] } }, ({ x }) => {
        setRandomCounter(literal(3, "i32"));
        return { y: cast(stochasticallyRounded(x as Tensor, key(5)), "f32") };
      }),
      inputs: { x: vector(...values) },
      want: { y: vector(...values.map((value) => (Object.is(value, -0) ? 0 : value))) },
      allowance: () => ({ ...EXACT, signedZero: false }),
      describe: () => "values of bf16, rounded stochastically",
    };
  }),
];

export const masterWeightsCases: readonly ConformanceCase[] = [
  ...lostUpdates,
  ...masters,
  ...fresh,
  ...stochastic,
];
