/** Every op along each of its axes, at ranks 1 to 6, in its first dtype. */
import { type DType, opDTypes } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { drawSome } from "../../draw-some.js";
import { randomSource } from "../../random-source.js";
import { type AxisOp, type AxisSamples, RANKED } from "../../samples/axis-data.js";
import type { Sampled } from "../../samples/op-sample.js";
import { opRows, opsWith } from "../../samples/op-table.js";
import { sampleCases } from "./sample-cases.js";

/** Number of samples of rank 6 that the seed draws. */
const DRAWN_OF_SIX = 12;

function axisOpCases<K extends AxisOp>(op: K): readonly ConformanceCase[] {
  const { axes }: { readonly axes: AxisSamples<K> } = opRows[op];
  const samples: Sampled<K> = (draws) => {
    const [all, ofSix] = [axes(draws, RANKED), axes(draws, [[2, 3, 4, 2, 3, 2]])];
    return Object.fromEntries(
      Object.entries(all).map(([behaviour, ofAll]) => [
        behaviour,
        [...ofAll, ...drawSome(draws.random, ofSix[behaviour] ?? [], DRAWN_OF_SIX)],
      ]),
    );
  };
  const behaviours = (dtype: DType) => Object.keys(axes({ dtype, random: randomSource(0, "") }, []));
  return sampleCases("axis", op, samples, behaviours, opDTypes[op].slice(0, 1));
}

export const axisCases: readonly ConformanceCase[] = opsWith("axes").flatMap((op) => axisOpCases(op));
