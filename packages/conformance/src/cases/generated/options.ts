/** Every value of every attribute alone, each two values together, and combinations that the seed draws. */
import type { DType } from "@mp/core";
import { opDTypes } from "@mp/core/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import type { RandomSource } from "../../random-source.js";
import type { OpRow, OpSample } from "../../samples/op-sample.js";
import { optionSamples } from "../../samples/options/option-samples.js";
import {
  drawnChoice,
  type OptionOp,
  type OptionRow,
  pairedChoices,
  plainChoice,
  type Setting,
  singleChoices,
} from "../../samples/options/setting.js";
import { drawn } from "../kinds/drawn.js";
import { sampleCases } from "./sample-cases.js";

/**
 * Number of values that the seed draws of each setting; the op's first dtype has all values, and all pairs of its first
 * setting.
 */
const SINGLES = 16;
const PAIRS = 8;
const COMBINATIONS = 6;

function samplesOf<K extends OptionOp>(
  { factors, sample }: Setting<K>,
  random: RandomSource,
  has: { readonly singles: boolean; readonly pairs: boolean },
): readonly OpSample<K>[] {
  const [singles, pairs] = [singleChoices(factors), pairedChoices(factors)];
  const choices = [
    plainChoice(factors),
    ...(has.singles ? singles : drawn(random, singles, SINGLES)),
    ...(has.pairs ? pairs : drawn(random, pairs, PAIRS)),
    ...(pairs.length === 0 ? [] : Array.from({ length: COMBINATIONS }, () => drawnChoice(factors, random))),
  ];
  return choices.flatMap((chosen) => sample(chosen, random) ?? []);
}

function rowOf<K extends OptionOp>(op: K, { dtypes = opDTypes[op], settings }: OptionRow<K>): OpRow<K> {
  return {
    dtypes,
    samples: (dtype: DType, random) => ({
      "each-value-and-each-two": settings(dtype).flatMap((one, index) => {
        const singles = dtype === dtypes[0];
        return samplesOf(one, random, { singles, pairs: singles && index === 0 });
      }),
    }),
  };
}

const casesOf = <K extends OptionOp>(op: K): readonly ConformanceCase[] =>
  sampleCases("option", op, rowOf(op, optionSamples[op]));

export const optionCases: readonly ConformanceCase[] = (Object.keys(optionSamples) as OptionOp[]).flatMap(
  (op) => casesOf(op),
);
