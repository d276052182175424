export { NativeRuntime, openRuntime, type RuntimeOptions } from "./runtime.js";
