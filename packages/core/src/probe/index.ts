/**
 * `@mp/core/probe`: questions to an engine, whose answers go into its manifest. An entry of its own, since some need the
 * reference backend.
 */

export { refusalOf } from "./engine-refusal.js";
export { halfUnits } from "./half-units.js";
export { missingPairs } from "./missing-pairs.js";
export { narrowSums } from "./narrow-sums.js";
export { nonFiniteProblem } from "./non-finite-probe.js";
export type { ProbePair } from "./pair-key.js";
export { emitPairs, type HalfPair, type ProbeGraph, type ProbeResults } from "./probe-pairs.js";
export { opsThatF32Fixes, type RunWidened } from "./rounding-probe.js";
export { type SumProbe, sumProbe } from "./sum-probe.js";
