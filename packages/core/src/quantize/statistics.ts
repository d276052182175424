/** Statistics of a recipe's operands: computed beside their codes, in a program that trains nothing. */
import { floatFormats, type Graph, type HostTensor, Tensor } from "@mp/graph";
import { currentBuilder, unrollScans } from "@mp/graph/internal";
import {
  abs,
  and,
  cast,
  equal,
  greater,
  greaterOrEqual,
  lessOrEqual,
  mul,
  not,
  reduceMax,
  reduceSum,
  stack,
  where,
} from "@mp/graph/ops";
import { elementFormats } from "./element-format.js";
import type { QuantizedBlocks } from "./quantize.js";
import type { ObserveOperand } from "./quantized-product.js";
import type { Recipe } from "./recipe.js";
import type { ReadRule } from "./rule.js";

/**
 * Effects of quantization on an operand, in all products that read it and all steps of a loop. The names of the shares
 * are those of TransformerEngine's `LogFp8TensorStats`; here they are fractions of the finite numbers other than 0.
 */
export interface OperandStatistics {
  /** The largest finite magnitude before scaling. */
  readonly amax: number;
  /** Whether all numbers are finite. One that is not makes NaN of all numbers that share its scale. */
  readonly allFinite: boolean;
  /** The share that is flushed to 0. */
  readonly underflows: number;
  /** The share that would round to more than the format's largest number, and is saturated. */
  readonly overflows: number;
}

/** The recipe, with statistics in the programs that are traced with it, for `statisticsIn` to find. */
export function withStatistics(recipe: Recipe): Recipe {
  const { pass } = recipe;
  const quantizeProducts: typeof pass.quantizeProducts = (traced, context) =>
    pass.quantizeProducts(traced, context, observe);
  return { ...recipe, pass: { ...pass, quantizeProducts } };
}

/** Ties the statistics to the codes, so that they are computed, also in loops, where the codes are. */
const observe: ObserveOperand = (made, measures, rule) => {
  const builder = currentBuilder("recipe");
  const values = [made.codes, count(made, rule)].map((each) => Tensor.valueIn(each, builder, "recipe"));
  return {
    ...made,
    codes: Tensor.of(builder.emitOne("Barrier", values, {}, { ...builder.origin, measures })),
  };
};

/** The amax and the numbers of nonzero, flushed, saturated and not finite elements, f32 [5]. */
function count({ split, scaled, codes, decode }: QuantizedBlocks, { format }: ReadRule): Tensor {
  const { maxFinite, maxExponent, fractionBits } = elementFormats[format];
  const size = abs(split);
  const allFinite = lessOrEqual(size, floatFormats.f32.maxFinite);
  const finite = where(allFinite, size, 0);
  const isCounted = greater(finite, 0);
  // Codes of a block whose scale is 0 are not 0.
  const isFlushed = and(isCounted, equal(mul(cast(codes, "f32"), decode), 0));
  const halfway = maxFinite + 2 ** (maxExponent - fractionBits - 1);
  const isSaturated = and(and(isCounted, not(isFlushed)), greaterOrEqual(abs(scaled), halfway));
  const counts = [isCounted, isFlushed, isSaturated, not(allFinite)].map((is) => reduceSum(cast(is, "f32")));
  return stack([reduceMax(finite), ...counts]);
}

/** The graph with its statistics as outputs: one for each time that an operand is quantized. */
export function statisticsIn(traced: Graph): Graph {
  const graph = unrollScans(traced);
  const outputs = graph.nodes.flatMap(({ origin: { measures }, inputs: [, value] }, at) =>
    measures === undefined || value === undefined ? [] : [{ name: `${measures} ${at}`, value }],
  );
  return { ...graph, outputs };
}

/** Reads the statistics of an operand, by its name; undefined if no product read it. */
export function readStatistics(
  outputs: Readonly<Record<string, HostTensor>>,
  operand: string,
): OperandStatistics | undefined {
  const own = Object.entries(outputs).filter(([name]) => name.startsWith(`${operand} `));
  if (own.length === 0) return undefined;
  const at = (place: number): readonly number[] => own.map(([, { data }]) => Number(data[place]));
  const sum = (place: number): number => at(place).reduce((total, each) => total + each, 0);
  const numbers = Math.max(1, sum(1));
  const shares = { underflows: sum(2) / numbers, overflows: sum(3) / numbers };
  return { amax: Math.max(...at(0)), allFinite: sum(4) === 0, ...shares };
}
