/** Every op along each of its axes, at ranks 1 to 5, in every dtype. */
import type { DType } from "@mp/core";
import { opDTypes } from "@mp/core/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import type { AxisOp } from "../../samples/axes/axis-row.js";
import { axisSamples } from "../../samples/axes/axis-samples.js";
import type { OpRow } from "../../samples/op-sample.js";
import { drawn } from "../kinds/drawn.js";
import { sampleCases } from "./sample-cases.js";

/**
 * The first dtype of an op has all samples. Each other one has those of a reduction along a single axis, and of the rest
 * of each behavior that many, which the seed draws.
 */
const DRAWN = 20;

const isAlongOne = ({ attributes }: { readonly attributes: object }): boolean =>
  "axes" in attributes && Array.isArray(attributes.axes) && attributes.axes.length === 1;

function thinned<K extends AxisOp>(op: K, row: OpRow<K>): OpRow<K> {
  const dtypes = row.dtypes ?? opDTypes[op];
  return {
    dtypes,
    samples: (dtype: DType, random) => {
      const all = row.samples(dtype, random);
      if (dtype === dtypes[0]) return all;
      return Object.fromEntries(
        Object.entries(all).map(([behaviour, samples]) => {
          const rest = samples.filter((each) => !isAlongOne(each));
          return [behaviour, [...samples.filter(isAlongOne), ...drawn(random, rest, DRAWN)]];
        }),
      );
    },
  };
}

const casesOf = <K extends AxisOp>(op: K): readonly ConformanceCase[] =>
  sampleCases("axis", op, thinned(op, axisSamples[op]));

export const axisCases: readonly ConformanceCase[] = (Object.keys(axisSamples) as AxisOp[]).flatMap((op) =>
  casesOf(op),
);
