/** Statistics of a recipe's operands: computed beside their codes, in a program that trains nothing. */
import { floatFormats, type Graph, type HostTensor, type Origin, Tensor } from "@mp/graph";
import { currentBuilder, unrollScans } from "@mp/graph/internal";
import {
  abs,
  and,
  cast,
  concat,
  equal,
  greater,
  greaterOrEqual,
  lessOrEqual,
  reduceMax,
  reduceSum,
  reshape,
  where,
} from "@mp/graph/ops";
import { elementFormats } from "./element-format.js";
import type { QuantizedBlocks } from "./quantize.js";
import type { Recipe } from "./recipe.js";
import type { OperandRole } from "./recipe-facts.js";
import type { ReadRule } from "./rule.js";

/**
 * What quantization does to an operand, in all products that read it and all steps of a loop. The names are those of
 * TransformerEngine's `LogFp8TensorStats`; the shares here are fractions of the finite numbers other than 0.
 */
export interface OperandStatistics {
  /** The largest finite magnitude before scaling. */
  readonly amax: number;
  /** The share that is flushed to 0. */
  readonly underflows: number;
  /** The share that would round to more than the format's largest number, and is saturated. */
  readonly overflows: number;
}

/** The recipe, with statistics in the programs that are traced with it, for `statisticsOf` to find. */
export function withStatistics(recipe: Recipe): Recipe {
  const { pass, rules } = recipe;
  const observe = (made: QuantizedBlocks, product: number, role: OperandRole): QuantizedBlocks => {
    const builder = currentBuilder("recipe");
    const operands = [made.codes, count(made, rules[role])].map((each) =>
      Tensor.valueIn(each, builder, "recipe"),
    );
    // What reads the codes keeps the statistics alive.
    const origin = { ...builder.origin, measures: { product, role } };
    return { ...made, codes: Tensor.of(builder.emitOne("Barrier", operands, {}, origin)) };
  };
  const quantizeProducts: typeof pass.quantizeProducts = (traced, context) =>
    pass.quantizeProducts(traced, context, observe);
  return { ...recipe, pass: { ...pass, quantizeProducts } };
}

/** The amax and the numbers of nonzero, flushed and saturated elements, f32 [4]. */
function count({ split, scaled, codes }: QuantizedBlocks, { format }: ReadRule): Tensor {
  const { maxFinite, maxExponent, fractionBits } = elementFormats[format];
  const size = abs(split);
  const finite = where(lessOrEqual(size, floatFormats.f32.maxFinite), size, 0);
  const isCounted = greater(finite, 0);
  const isFlushed = and(isCounted, equal(cast(codes, "f32"), 0));
  const halfway = maxFinite + 2 ** (maxExponent - fractionBits - 1);
  const isSaturated = and(isCounted, greaterOrEqual(abs(scaled), halfway));
  const counts = [isCounted, isFlushed, isSaturated].map((is) => reduceSum(cast(is, "f32")));
  return concat([reduceMax(finite), ...counts].map((each) => reshape(each, [1])));
}

type Site = NonNullable<Origin["measures"]>;

/** A graph whose outputs are the statistics in a traced graph, and the operand that each is of. */
export function statisticsOf(traced: Graph): { readonly graph: Graph; readonly sites: readonly Site[] } {
  const graph = unrollScans(traced);
  const found = graph.nodes.flatMap(({ origin: { measures }, inputs: [, value] }) =>
    measures === undefined || value === undefined ? [] : [{ measures, value }],
  );
  const outputs = found.map(({ value }, index) => ({ name: String(index), value }));
  return { graph: { ...graph, outputs }, sites: found.map(({ measures }) => measures) };
}

/** Reads the statistics of an operand of the product at a place among those that the recipe quantizes. */
export function readStatistics(
  outputs: Readonly<Record<string, HostTensor>>,
  sites: readonly Site[],
  operand: Site,
): OperandStatistics | undefined {
  const own = sites.flatMap(({ product, role }, index) =>
    product === operand.product && role === operand.role
      ? [Array.from(outputs[index]?.data ?? [], Number)]
      : [],
  );
  const at = (place: number): readonly number[] => own.map((counts) => counts[place] ?? 0);
  const [numbers = 0, flushed = 0, saturated = 0] = [1, 2, 3].map((place) =>
    at(place).reduce((sum, each) => sum + each, 0),
  );
  if (own.length === 0) return undefined;
  const share = (part: number): number => (numbers === 0 ? 0 : part / numbers);
  return { amax: Math.max(...at(0)), underflows: share(flushed), overflows: share(saturated) };
}
