import { tensor } from "@mp/graph";
import { type Check, checks } from "@mp/graph/internal";
import type { CastExplanation, CastReport, QuantizedOperand } from "../../cast/explain.js";
import { isRecipe, type Recipe } from "../../quantize/recipe.js";
import { recipeAt } from "../../quantize/recipes-by-step.js";
import {
  type OperandStatistics,
  readStatistics,
  statisticsIn,
  withStatistics,
} from "../../quantize/statistics.js";
import type { FlatBatch } from "../batch/batch.js";
import { runOnce } from "../compile/compiled-programs.js";
import { MOST_LOST } from "../diagnosis/find-remedies.js";
import type { Inspected } from "../diagnosis/replay.js";
import { gradientsProgram } from "../programs/step-programs.js";
import { SCALE } from "./counts/value-groups.js";

/** The products that a recipe quantizes on a batch, with statistics of their operands. */
export interface RecipeReport {
  /** The recipe's name. */
  readonly recipe: string;
  readonly products: readonly CastExplanation[];
}

/** Whether an operand survives a recipe: it is finite, and at most a tenth is flushed to 0 or saturated. */
export const survives = ({ allFinite, underflows, overflows }: Omit<OperandStatistics, "amax">): boolean =>
  allFinite && underflows + overflows <= MOST_LOST;

export interface MeasuredParts extends Inspected {
  readonly casts: CastReport;
  readonly scale: number;
}

/** Checks the recipes that a report is asked for. @throws MP_INVALID_ARGUMENT */
export const checkOthers: Check = checks.listOf(
  "recipes, such as mxfp8().recipe, without delayed scaling, whose scales only a run with it has",
  (each) => isRecipe(each) && each.scaling === undefined,
);

/** The cast plan under the run's recipe with statistics, and reports on it and on others for the same products. */
export async function recipeReports(
  parts: MeasuredParts,
  feed: FlatBatch,
  others: readonly Recipe[],
): Promise<{ readonly casts: CastReport; readonly recipes: readonly RecipeReport[] }> {
  const own = recipeAt(parts.definition.precision.recipe, 0);
  const places = own && { scopes: own.scopes, products: own.products };
  const casts = own === undefined ? parts.casts : await measure(parts, feed, own);
  const recipes: RecipeReport[] = own === undefined ? [] : [reportOf(own, casts)];
  for (const each of others) recipes.push(reportOf(each, await measure(parts, feed, { ...each, ...places })));
  return { casts, recipes };
}

const isQuantized = ({ quantized }: CastExplanation): boolean => (quantized?.operands.length ?? 0) > 0;

const reportOf = ({ name }: Recipe, { nodes }: CastReport): RecipeReport => ({
  recipe: name,
  products: nodes.filter(isQuantized),
});

/** Runs a batch forward and backward as a step with the recipe does, and counts; changes no state. */
async function measure(
  { programs, definition, stateTypes, scale }: MeasuredParts,
  feed: FlatBatch,
  recipe: Recipe,
): Promise<CastReport> {
  const reports: CastReport[] = [];
  const precision = { ...definition.precision, recipe: withStatistics(recipe) };
  const program = gradientsProgram({ ...definition, precision }, stateTypes, feed.types(), {
    casts: (report) => reports.push(report),
  });
  const graph = statisticsIn(program.graph);
  const bindings = program.bindings.map(({ slot, input }) => ({ slot, input }));
  const inputs = { ...feed.inputs, [SCALE]: tensor(Float32Array.of(scale), []) };
  const outputs = await runOnce(programs.backend, { ...program, graph, bindings }, inputs, programs.state);
  const [casts] = reports as [CastReport];
  let product = -1;
  const nodes = casts.nodes.map((node): CastExplanation => {
    const { quantized } = node;
    if (quantized === undefined || !isQuantized(node)) return node;
    product++;
    const operands = quantized.operands.map((operand): QuantizedOperand => {
      const statistics = readStatistics(outputs, `${product} ${operand.role}`);
      return statistics === undefined ? operand : { ...operand, statistics };
    });
    return { ...node, quantized: { ...quantized, operands } };
  });
  return { ...casts, nodes };
}
