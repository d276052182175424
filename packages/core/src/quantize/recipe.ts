import { type Check, checks } from "@mp/graph/internal";
import type { RecipeFacts } from "./recipe-facts.js";
import type { RecipePass } from "./recipe-pass.js";

/** A recipe with all defaults filled in: the part `recipe` of a precision. */
export interface Recipe extends RecipeFacts {
  readonly pass: RecipePass;
}

/** Whether a value is a recipe. A copy by JSON is not: it has lost the functions. */
export const isRecipe = (value: unknown): value is Recipe =>
  typeof (value as Partial<Recipe> | null | undefined)?.pass?.planProducts === "function";

/** Checks that an option is a recipe. @throws MP_INVALID_ARGUMENT for anything else */
export const checkRecipe: Check = checks.claim(
  "made by recipe(…), or taken from a precision: float8().recipe",
  isRecipe,
);

/** Describes everything that decides the numbers. Loading a checkpoint with another description warns. */
export function describeRecipe({ name, pass: _pass, ...facts }: Recipe): string {
  return `${name} ${JSON.stringify(facts)}`;
}
