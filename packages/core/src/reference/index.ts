/** The oracle: what every op means, in pure TypeScript. Slow beside an engine, right to the bit. */
export type { ArithmeticMode } from "./arithmetic.js";
export { type EvaluateOptions, evaluate, evaluateRaw, type RawTensor } from "./evaluate.js";
export { reference } from "./reference.js";
