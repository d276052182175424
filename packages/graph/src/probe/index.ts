/**
 * `@mp/graph/probe`: graphs that test what an engine computes; the answers go into the engine's manifest. It is a
 * separate entry, because some of the probes need the reference backend.
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
