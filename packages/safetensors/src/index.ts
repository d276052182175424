export { bitsPerElement, SAFETENSORS_DTYPES, type SafetensorsDType } from "./dtypes.js";
export {
  SafetensorsError,
  type SafetensorsErrorCode,
  type SafetensorsErrorOptions,
} from "./errors.js";
export type { SafetensorsLimits } from "./limits.js";
export { parse, type SafetensorsFile } from "./parse.js";
export {
  headerLength,
  parseHeader,
  type SafetensorsEntry,
  type SafetensorsHeader,
} from "./parse-header.js";
export { SAFETENSORS_PROBLEMS, type SafetensorsProblem } from "./problem.js";
export { load, save } from "./save.js";
export { serialize, serializeToChunks } from "./serialize.js";
export type { LoadedTensors, SafetensorsTensor, WritableTensor } from "./tensor.js";
export { type ArrayOfDType, arrayOf } from "./typed-arrays.js";
