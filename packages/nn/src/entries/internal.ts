/** `@mp/nn/internal`: code that `@mp/language-models` uses too. It is not public: any release may change it. */

export type { LinearPart } from "../adapters/linear-part.js";
export { invalid, mismatch } from "../errors.js";
export {
  type FieldTable,
  type FieldValues,
  optional,
  readFields,
  required,
  unused,
} from "../fields/config-fields.js";
export { extent, ignoreOption, names, positive, rate } from "../fields/field-checks.js";
export { isPast } from "../multi-head-attention.js";
export {
  type Quantization,
  quantizeWeight,
  withWeight,
} from "../quantized/stored-weight.js";
export { type Store, storeFloats } from "../safetensors/filling.js";
export { readJson, readText } from "../safetensors/json-file.js";
export { loadStored } from "../safetensors/load-safetensors.js";
export { saveFolder } from "../safetensors/save-weights.js";
