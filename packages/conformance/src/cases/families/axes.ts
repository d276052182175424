/** Every op along each of its axes, at ranks 1 to 5, in every dtype. */
import { opDTypes } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { type AxisOp, type AxisSamples, RANKED } from "../../samples/axis-data.js";
import type { Sampled } from "../../samples/op-sample.js";
import { opRows, opsWith } from "../../samples/op-table.js";
import { drawSome } from "../kinds/drawn.js";
import { sampleCases } from "./sample-cases.js";

/**
 * Number of samples per behavior that the seed draws for dtypes other than an op's first, which has all samples.
 * Reductions along a single axis are not counted: every dtype has all of them.
 */
const DRAWN = 20;

const isAlongOne = ({ attributes }: { readonly attributes: object }): boolean =>
  "axes" in attributes && Array.isArray(attributes.axes) && attributes.axes.length === 1;

const thin =
  <K extends AxisOp>(op: K, axes: AxisSamples<K>): Sampled<K> =>
  (draws) => {
    const all = axes(draws, RANKED);
    if (draws.dtype === opDTypes[op][0]) return all;
    return Object.fromEntries(
      Object.entries(all).map(([behaviour, samples]) => {
        const rest = samples.filter((each) => !isAlongOne(each));
        return [behaviour, [...samples.filter(isAlongOne), ...drawSome(draws.random, rest, DRAWN)]];
      }),
    );
  };

function axisOpCases<K extends AxisOp>(op: K): readonly ConformanceCase[] {
  const { axes }: { readonly axes: AxisSamples<K> } = opRows[op];
  return sampleCases("axis", op, thin(op, axes));
}

export const axisCases: readonly ConformanceCase[] = opsWith("axes").flatMap((op) => axisOpCases(op));
