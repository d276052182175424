import { invalid, isPlainObject } from "@mp/graph/internal";
import type { DelayedScaling } from "./delayed-scaling.js";
import type { expandedFor, planProducts } from "./plan-products.js";
import type { quantizeProducts } from "./quantize-products.js";
import type { formatRule, ReadRule } from "./rule.js";
import type { initialScaling, nextScaling } from "./scaling-state.js";

/** What an operand of a product holds. */
export type OperandRole = "input" | "weight" | "gradient";

export const OPERAND_ROLES: readonly OperandRole[] = ["input", "weight", "gradient"];

/** A recipe with all defaults filled in: the part `recipe` of a precision. */
export interface Recipe {
  readonly name: string;
  readonly rules: Readonly<Record<OperandRole, ReadRule>>;
  readonly hadamard: boolean;
  readonly scaling?: DelayedScaling | undefined;
  readonly products: "weights" | "all";
  readonly scopes: Readonly<Record<string, boolean>>;
  readonly pass: RecipePass;
}

/** The functions that apply a recipe: programs without one are bundled without them. */
export interface RecipePass {
  readonly expandedFor: typeof expandedFor;
  readonly planProducts: typeof planProducts;
  readonly quantizeProducts: typeof quantizeProducts;
  readonly formatRule: typeof formatRule;
  readonly initialScaling: typeof initialScaling;
  readonly nextScaling: typeof nextScaling;
}

/** Checks that an option is a recipe. @throws MP_INVALID_ARGUMENT for anything else */
export function checkRecipe(what: string, value: unknown): void {
  const { name, rules, pass } = (value ?? {}) as Partial<Recipe>;
  if (typeof name === "string" && isPlainObject(rules) && isPlainObject(pass)) return;
  throw invalid(`${what} must be made by recipe(…), or taken from a precision: float8().recipe`);
}

/** Describes everything that decides the numbers. Loading a checkpoint with another description warns. */
export function describeRecipe({ name, pass: _pass, ...facts }: Recipe): string {
  return `${name} ${JSON.stringify(facts)}`;
}
