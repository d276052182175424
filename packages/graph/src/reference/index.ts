/**
 * The reference backend: the definition of every op, in pure TypeScript. Slow compared with an engine, but bit-exact.
 */
export type { ArithmeticMode } from "./elements/arithmetic.js";
export { type EvaluateOptions, evaluate, evaluateRaw, type RawTensor } from "./evaluate.js";
export { reference } from "./reference.js";
