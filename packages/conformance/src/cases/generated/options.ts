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
import { drawn } from "./drawn.js";
import { sampleCases } from "./sample-cases.js";

/** In dtypes other than the first, of the pairs of a setting. */
const PAIRS = 16;
const COMBINATIONS = 12;

function samplesOf<K extends OptionOp>(
  { factors, sample }: Setting<K>,
  random: RandomSource,
  isFirst: boolean,
): readonly OpSample<K>[] {
  const pairs = pairedChoices(factors);
  const choices = [
    plainChoice(factors),
    ...singleChoices(factors),
    ...(isFirst ? pairs : drawn(random, pairs, PAIRS)),
    ...(pairs.length === 0
      ? []
      : Array.from({ length: COMBINATIONS }, () => drawnChoice(factors, random))),
  ];
  return choices.flatMap((chosen) => sample(chosen, random) ?? []);
}

function rowOf<K extends OptionOp>(op: K, { dtypes = opDTypes[op], settings }: OptionRow<K>): OpRow<K> {
  return {
    dtypes,
    samples: (dtype: DType, random) => ({
      "each-value-and-each-two": settings(dtype).flatMap((one) =>
        samplesOf(one, random, dtype === dtypes[0]),
      ),
    }),
  };
}

const casesOf = <K extends OptionOp>(op: K): readonly ConformanceCase[] =>
  sampleCases("option", op, rowOf(op, optionSamples[op]));

export const optionCases: readonly ConformanceCase[] = (Object.keys(optionSamples) as OptionOp[]).flatMap(
  (op) => casesOf(op),
);
