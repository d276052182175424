/** The functions that apply a recipe, which carries them: programs without one are bundled without them. */
export { expandedFor, planProducts } from "./plan-products.js";
export { encodesByInput, quantizeProducts } from "./quantize-products.js";
export { formatRule } from "./rule.js";
export { initialScaling, nextScaling } from "./scaling-state.js";
