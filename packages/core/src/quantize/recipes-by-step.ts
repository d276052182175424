import { invalid, isPlainObject, shown } from "@mp/graph/internal";
import { checkRecipe, describeRecipe, type Recipe } from "./recipe.js";

/** A recipe that holds from a count of applied steps on; undefined for products that are not quantized. */
export interface RecipePhase {
  readonly from: number;
  readonly recipe: Recipe | undefined;
}

/** Recipes that follow one another. */
export interface RecipesByStep {
  readonly name: string;
  readonly phases: readonly [RecipePhase, ...RecipePhase[]];
}

/**
 * Changes the recipe at counts of applied steps: `recipesByStep({ 0: "none", 100: nvfp4().recipe })`. The programs of
 * all recipes are compiled at the first step of a batch shape, so that no later step waits for one.
 * @throws MP_INVALID_ARGUMENT for anything but recipes or "none" by count, beginning with 0
 */
export function recipesByStep(recipes: Readonly<Record<number, Recipe | "none" | undefined>>): RecipesByStep {
  const entries = isPlainObject(recipes) ? Object.entries(recipes) : [];
  const phases = entries.map(([count, value]): RecipePhase => {
    const from = Number(count);
    if (!Number.isSafeInteger(from) || from < 0 || String(from) !== count)
      throw invalid(`recipesByStep: counts of steps must be integers ≥ 0, got ${shown(count)}`);
    if (value === "none") return { from, recipe: undefined };
    checkRecipe(`recipesByStep: ${count}`, value);
    return { from, recipe: value as Recipe };
  });
  const [first, ...rest] = phases;
  if (first === undefined || first.from !== 0)
    throw invalid(
      `recipesByStep: must have a recipe or "none" from step 0 on, got ${shown(recipes)}; { 0: "none", 100: float8().recipe }`,
    );
  const lengths = new Set(phases.flatMap(({ recipe }) => recipe?.scaling?.history ?? []));
  if (lengths.size > 1)
    throw invalid(`recipesByStep: delayed scaling must have one history, got ${[...lengths].join(" and ")}`);
  const made = [first, ...rest] as const;
  return Object.freeze({ name: describePhases(made, ({ name }) => name), phases: made });
}

const describePhases = (phases: readonly RecipePhase[], of: (recipe: Recipe) => string): string =>
  `byStep(${phases.map(({ from, recipe }) => `${from}: ${recipe === undefined ? "none" : of(recipe)}`).join(", ")})`;

/** Checks that an option is a recipe, or recipes by step. @throws MP_INVALID_ARGUMENT for anything else */
export function checkRecipes(what: string, value: unknown): void {
  const { phases } = (value ?? {}) as Partial<RecipesByStep>;
  if (!Array.isArray(phases)) checkRecipe(what, value);
}

/** Describes everything that decides the numbers. Loading a checkpoint with another description warns. */
export const describeRecipes = (recipe: Recipe | RecipesByStep): string =>
  "phases" in recipe ? describePhases(recipe.phases, describeRecipe) : describeRecipe(recipe);

/** The phases of a precision's part `recipe`. */
export function phasesOf(recipe: Recipe | RecipesByStep | undefined): RecipesByStep["phases"] {
  return recipe !== undefined && "phases" in recipe ? recipe.phases : [{ from: 0, recipe }];
}

/** The first recipe with delayed scaling, whose state a run keeps; others have the same history or none. */
export function delayedRecipe(recipe: Recipe | RecipesByStep | undefined): Recipe | undefined {
  return phasesOf(recipe).find((phase) => phase.recipe?.scaling !== undefined)?.recipe;
}

/** The recipe that holds after so many applied steps. */
export function recipeAt(recipe: Recipe | RecipesByStep | undefined, applied: number): Recipe | undefined {
  return phasesOf(recipe).findLast(({ from }) => from <= applied)?.recipe;
}
