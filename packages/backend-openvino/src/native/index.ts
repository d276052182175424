export type { NativeModel, NativeRequest } from "./model.js";
export { NativeRuntime, type RuntimeOptions } from "./runtime.js";
export type { NativeTensor } from "./tensor.js";
