/**
 * `@mp/core/internal`: what the other packages of this repository share with core. It is not public: any release may change it.
 */

export { accumulatorOf, type Accumulation, type Ulp } from "../contract/manifest.js";
export type { KernelManifest } from "../backend/manifest.js";
export { resolveBindings } from "../backend/bindings.js";
export { WorkQueue } from "../backend/work-queue.js";
export { hideFromOrigins } from "../trace/line.js";
export { labeledPart } from "../trace/parameter-paths.js";
export { hostUniform } from "../trace/random/host-random.js";
export { setRandomCounter } from "../trace/random/random.js";
export { squares32 } from "../trace/random/squares.js";
export { poison } from "../trace/ops/finite.js";
export { shown } from "../shown.js";
export { contentHash } from "../content-hash.js";
export { sameBytes } from "../same-bytes.js";
export { later, readOptions, withDefault } from "../option-table.js";
export { StatefulRun, type StatefulFunction } from "../predict/stateful-run.js";
export { backendPart, parametersPart, signalPart } from "../train/batch/check-parts.js";
export { printWarning } from "../train/run/print-warning.js";
export * as checks from "../argument-checks.js";
export { arrayClassOf } from "../typed-array.js";
