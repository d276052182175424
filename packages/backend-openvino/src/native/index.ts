export type { NativeModel, NativeRequest } from "./model.js";
export { NativeRuntime } from "./runtime.js";
export type { NativeTensor } from "./tensor.js";
