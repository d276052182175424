import {
  checks,
  type DefaultedOptions,
  invalid,
  isPlainObject,
  type OptionTable,
  readOptions,
  withDefault,
} from "@mp/graph/internal";
import { type DelayedScaling, delayedScaling } from "./delayed-scaling.js";
import type { Recipe } from "./recipe.js";
import { OPERAND_ROLES } from "./recipe-facts.js";
import { recipePass as pass } from "./recipe-pass.js";
import { type QuantizationRule, readRule } from "./rule.js";

/** Choice of the products that a recipe quantizes. */
export interface PlaceOptions {
  /** `weights` (default): products of which an operand is a weight. `all`: also products of activations. */
  readonly products?: "weights" | "all";
  /**
   * By scope path and everything below it, whether products are quantized; the longest path counts, and "" is the whole
   * model. By default all are, except those of the first and the last layer: one that reads data alone, and one whose
   * result reaches no other product with a weight.
   */
  readonly scopes?: Readonly<Record<string, boolean>>;
}

/** Rules for each kind of operand, and the products that take part. */
export interface RecipeOptions extends PlaceOptions {
  /** Shown in reports and compared with that of a checkpoint. */
  readonly name: string;
  /** Activations, in the forward product and in the product that gives the weight's gradient. */
  readonly input: QuantizationRule;
  /** Weights: operands computed from parameters alone. */
  readonly weight: QuantizationRule;
  /** Gradients of results, in both gradient products. */
  readonly gradient: QuantizationRule;
  /**
   * Whether the two operands of a weight's gradient go through a random 16-point Hadamard transform first, which
   * spreads outliers and leaves the product as it is. Default false.
   */
  readonly hadamard?: boolean;
  /**
   * Makes scales from the magnitudes of earlier steps; needs tensor scaling with f32 scales. Default: each scale is
   * made from the tensor itself (current scaling). Some products, such as those in loops, always have current scaling;
   * `explain` names them. The `epsilon` of a rule counts only in current scaling.
   */
  readonly scaling?: DelayedScaling;
}

const scopes = checks.claim(
  'an object of true or false by scope path, such as { "": true, head: false }',
  (value) =>
    isPlainObject(value) &&
    Object.entries(value).every(
      ([path, isIn]) => typeof isIn === "boolean" && (path === "" || !path.split("/").includes("")),
    ),
);

export const PLACES: DefaultedOptions<PlaceOptions> = {
  products: withDefault("weights", checks.oneOf("weights", "all")),
  scopes: withDefault({}, scopes),
};

const RECIPE = {
  name: checks.text,
  input: checks.object,
  weight: checks.object,
  gradient: checks.object,
  hadamard: withDefault(false, checks.truth),
  scaling: checks.optional(checks.object),
  ...PLACES,
} satisfies OptionTable<RecipeOptions>;

/** Makes a recipe that quantizes products by a rule for each operand. @throws MP_INVALID_ARGUMENT for unknown or unfit options */
export function recipe(options: RecipeOptions): Recipe {
  const example = '{ name: "mine", input: { format: "f8e4m3" }, … }';
  const read = readOptions("recipe", options, RECIPE, { example });
  const { name, hadamard, products, scopes, scaling: delay, ...given } = read;
  const rules = Object.fromEntries(
    OPERAND_ROLES.map((role) => [role, readRule(`recipe: ${role}`, given[role])]),
  ) as Recipe["rules"];
  const scaling = delay === undefined ? undefined : delayedScaling(delay);
  const fits = Object.values(rules).every(
    ({ granularity, scale, margin }) =>
      granularity === "tensor" && scale.format === "f32" && !scale.powerOfTwo && margin === 0,
  );
  if (scaling !== undefined && (!fits || hadamard))
    throw invalid(
      "recipe: with scaling, rules must be by tensor, with f32 scales that are no powers of two, and without a margin, and hadamard must be false; leave scaling out, or give it the margin",
    );
  const facts = { rules, hadamard, ...(scaling === undefined ? {} : { scaling }), products, scopes };
  return Object.freeze({ name, ...facts, pass });
}
