/** The functions that apply a recipe, which carries them: programs without one are bundled without them. */
import { expandedFor, planProducts } from "./plan-products.js";
import { encodesByInput, quantizeProducts } from "./quantize-products.js";
import { formatRule } from "./rule.js";
import { initialScaling, nextScaling } from "./scaling-state.js";

export interface RecipePass {
  readonly expandedFor: typeof expandedFor;
  readonly planProducts: typeof planProducts;
  readonly encodesByInput: typeof encodesByInput;
  readonly quantizeProducts: typeof quantizeProducts;
  readonly formatRule: typeof formatRule;
  readonly initialScaling: typeof initialScaling;
  readonly nextScaling: typeof nextScaling;
}

/** Names each function, because bundlers never leave out a namespace object or a spread that nothing uses. */
export const recipePass: RecipePass = {
  expandedFor,
  planProducts,
  encodesByInput,
  quantizeProducts,
  formatRule,
  initialScaling,
  nextScaling,
};
