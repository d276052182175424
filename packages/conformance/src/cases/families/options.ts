/** Attributes: every value of each, every pair of values, and combinations that the seed draws. */
import { isHalf, type Op, opDTypes } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { drawSome } from "../../draw-some.js";
import type { Draws } from "../../host-data.js";
import type { OpSample, Sampled } from "../../samples/op-sample.js";
import { opRows, opsWith } from "../../samples/op-table.js";
import {
  drawChoice,
  type OptionOp,
  type Options,
  pairChoices,
  plainChoice,
  type Setting,
  singleChoices,
} from "../../samples/setting.js";
import { sampleCases } from "./sample-cases.js";

/**
 * Numbers of single values, pairs of values and combinations that the seed selects for each setting. An op's first
 * dtype has all single values, and all pairs of its first setting.
 */
const SINGLES = 16;
const PAIRS = 8;
const COMBINATIONS = 6;

function settingSamples<K extends OptionOp>(
  { factors, sample }: Setting<K>,
  draws: Draws,
  has: { readonly singles: boolean; readonly pairs: boolean },
): readonly OpSample<K>[] {
  const [singles, pairs] = [singleChoices(factors), pairChoices(factors)];
  const choices = [
    plainChoice(factors),
    ...(has.singles ? singles : drawSome(draws.random, singles, SINGLES)),
    ...(has.pairs ? pairs : drawSome(draws.random, pairs, PAIRS)),
    ...(pairs.length === 0
      ? []
      : Array.from({ length: COMBINATIONS }, () => drawChoice(factors, draws.random))),
  ];
  return choices.flatMap((chosen) => sample(chosen, draws) ?? []);
}

const BEHAVIOUR = "each-value-and-each-two";
const samplesIn =
  <K extends OptionOp>(op: K, options: Options<K>): Sampled<K> =>
  (draws) => ({
    [BEHAVIOUR]: options(draws.dtype).flatMap((one, index) => {
      const singles = draws.dtype === opDTypes[op][0];
      return settingSamples(one, draws, { singles, pairs: singles && index === 0 });
    }),
  });

/** Operators with numbers as attributes, which engines round to the dtype. */
const WITH_NUMBERS: readonly Op[] = ["Pad", "Clip"];

function optionOpCases<K extends OptionOp>(op: K): readonly ConformanceCase[] {
  const { options }: { readonly options: Options<K> } = opRows[op];
  const varied = opDTypes[op].filter((dtype) => options(dtype).length > 0);
  const dtypes = varied.filter((dtype, at) => at === 0 || (isHalf(dtype) && WITH_NUMBERS.includes(op)));
  return sampleCases("option", op, samplesIn(op, options), () => [BEHAVIOUR], dtypes);
}

export const optionCases: readonly ConformanceCase[] = opsWith("options").flatMap((op) => optionOpCases(op));
