/** Every op along each of its axes, at ranks 1 to 6, in every dtype. */
import { type DType, opDTypes, type Shape } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { drawSome } from "../../draw-some.js";
import { randomSource } from "../../random-source.js";
import { type AxisOp, type AxisSamples, RANKED } from "../../samples/axis-data.js";
import type { Sampled } from "../../samples/op-sample.js";
import { opRows, opsWith } from "../../samples/op-table.js";
import { sampleCases } from "./sample-cases.js";

/**
 * Number of samples per behavior that the seed selects for a dtype. An op's first dtype has all samples, and every
 * dtype has all reductions along a single axis.
 */
const DRAWN = 20;

/** Number of samples of rank 6 that the seed draws, in every dtype. */
const DRAWN_OF_SIX = 12;

const OF_SIX: readonly Shape[] = [[2, 3, 4, 2, 3, 2]];

const isAlongOne = ({ attributes }: { readonly attributes: object }): boolean =>
  "axes" in attributes && Array.isArray(attributes.axes) && attributes.axes.length === 1;

const thin =
  <K extends AxisOp>(op: K, axes: AxisSamples<K>): Sampled<K> =>
  (draws) => {
    const [all, ofSix] = [axes(draws, RANKED), axes(draws, OF_SIX)];
    const isFirst = draws.dtype === opDTypes[op][0];
    return Object.fromEntries(
      Object.entries(all).map(([behaviour, samples]) => {
        const kept = samples.filter((each) => isFirst || isAlongOne(each));
        const rest = isFirst ? [] : samples.filter((each) => !isAlongOne(each));
        const drawn = drawSome(draws.random, ofSix[behaviour] ?? [], DRAWN_OF_SIX);
        return [behaviour, [...kept, ...drawSome(draws.random, rest, DRAWN), ...drawn]];
      }),
    );
  };

function axisOpCases<K extends AxisOp>(op: K): readonly ConformanceCase[] {
  const { axes }: { readonly axes: AxisSamples<K> } = opRows[op];
  const behaviours = (dtype: DType) => Object.keys(axes({ dtype, random: randomSource(0, "") }, []));
  return sampleCases("axis", op, thin(op, axes), behaviours);
}

export const axisCases: readonly ConformanceCase[] = opsWith("axes").flatMap((op) => axisOpCases(op));
