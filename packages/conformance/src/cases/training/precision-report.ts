/** What a run reports about its numbers: every value is counted in the right bin, every skip with its cause. */
import { float32, type LossFunction, mixedFloat16, staticLossScale } from "@mp/core";
import { log, matMul, mul, reduceSum } from "@mp/core/ops";
import type { DiagnosisCause, ExponentHistogram } from "@mp/core/report";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import {
  exactSgd,
  type Fed,
  filled,
  linear,
  type NoModel,
  product,
  vector,
  type WeightsOf,
} from "../../training/problems.js";
import { scenarioCase } from "../../training/scenario.js";
import { withTrainer } from "../../training/session.js";

const EXPONENTS = Array.from({ length: 254 }, (_, index) => index - 126);
const LARGEST = (2 - 2 ** -23) * 2 ** 127;

/**
 * For each exponent of f32's normal numbers the smallest value, its negative and the largest; and values without an
 * exponent.
 */
const weights = [
  ...EXPONENTS.flatMap((e) => [2 ** e, -(2 ** e), (2 - 2 ** -23) * 2 ** e]),
  ...[0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN],
];

/** Tests the values at which the exponent changes, where a logarithm or a comparison would first be wrong. */
const exponents: ConformanceCase = scenarioCase<ExponentHistogram | undefined>(
  "report/exponents/counted-exactly",
  (backend) =>
    withTrainer<WeightsOf, Fed, NoModel, ExponentHistogram | undefined>(
      backend,
      {
        params: { w: filled([weights.length], 0) },
        loss: linear,
        optimizer: exactSgd(),
        precision: float32(),
      },
      async ({ training, state }) => {
        // Written to the state, since a trainer refuses such initial weights.
        await state.write({ "master/w": vector(...weights) });
        const { groups } = await training.precisionReport({ x: filled([weights.length], 1) });
        return groups.find(({ kind }) => kind === "weights")?.histogram;
      },
    ),
  (histogram) => {
    const { first, counts, zeros, infinities, nans, largest } = histogram as ExponentHistogram;
    expectEqual([first, counts.length], [-126, 254], "the first exponent and how many there are");
    const wrong = counts.findIndex((count) => count !== 3);
    expectThat(wrong < 0, `${counts[wrong]} values have exponent ${first + wrong}, want 3`);
    expectEqual([zeros, infinities, nans, largest], [2, 2, 1, LARGEST], "zeros, ±∞, NaN and the largest");
  },
);

const nothing: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }) =>
  reduceSum(log(mul(reduceSum(matMul(w, x)), 0)));

interface Trouble {
  readonly cause: DiagnosisCause;
  readonly loss: LossFunction<WeightsOf, Fed, NoModel>;
  readonly w: number;
  readonly x: number;
  readonly scale: number;
}

const troubles: readonly Trouble[] = [
  { cause: "scale too high", loss: product, w: 1, x: 4, scale: 2 ** 20 },
  { cause: "half too narrow", loss: product, w: 300, x: 300, scale: 1 },
  { cause: "model", loss: nothing, w: 1, x: 1, scale: 8 },
  { cause: "data", loss: product, w: 1, x: Number.NaN, scale: 8 },
];

/** Four steps that are skipped for four different reasons. */
const causes: ConformanceCase = scenarioCase<readonly (DiagnosisCause | "applied" | undefined)[]>(
  "report/replay/tells-the-cause",
  async (backend) => {
    const found: (DiagnosisCause | "applied" | undefined)[] = [];
    for (const { loss, w, x, scale } of troubles) {
      const precision = { ...mixedFloat16(), lossScaler: staticLossScale(scale) };
      const options = { params: { w: filled([1, 2], w) }, loss, optimizer: exactSgd(), precision };
      await withTrainer<WeightsOf, Fed, NoModel, void>(backend, options, async ({ training }) => {
        const batch = { x: filled([2, 1], x) };
        const { applied } = await training.step(batch);
        found.push(applied ? "applied" : (await training.diagnose([batch], { scale }))?.cause);
      });
    }
    return found;
  },
  (found) =>
    expectEqual(
      found,
      troubles.map(({ cause }) => cause),
      "the causes",
    ),
);

export const precisionReportCases: readonly ConformanceCase[] = [exponents, causes];
