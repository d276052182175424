/**
 * `@mp/core/backend`: the building blocks for backend authors. `kernelBackend` turns a table of kernels into a backend.
 * Our own backends check their arguments with the checks below it, so error messages are the same everywhere. Names
 * that `@mp/core` exports too (`validateGraph`, `opDTypes`, `decidingDType`) belong to the graph's op set.
 */

export type { Bound, Replacement } from "./backend/bindings.js";
export { resolveBindings } from "./backend/bindings.js";
export { expectHostTensor } from "./backend/check-tensor.js";
export { defineBackend } from "./backend/define-backend.js";
export { emulationWarnings } from "./backend/emulation-warnings.js";
export { HandleTable } from "./backend/handle-table.js";
export type {
  Awaitable,
  BackendHooks,
  FeedFunctions,
  Named,
  Place,
  Program,
  StateFunctions,
  StorageFunctions,
} from "./backend/hooks.js";
export type { KernelManifest, Missing } from "./backend/manifest.js";
export {
  deriveManifest,
  exactNumerics,
  expectDTypeSupported,
  expectGraphSupported,
  expectStateSupported,
  opSupport,
} from "./backend/manifest.js";
export { expectRunInputs } from "./backend/run-inputs.js";
export { StateTypes } from "./backend/state-types.js";
export { WorkQueue } from "./backend/work-queue.js";
export type { AddingOp } from "./graph/adding-ops.js";
export { ADDING_OPS, addsUp } from "./graph/adding-ops.js";
export { decidingDType, opDTypes } from "./graph/op-dtypes.js";
export { tapCounts, tapsOf, withoutCeiling } from "./graph/pooling-window.js";
export { validateGraph } from "./graph/validate.js";
export { halvedPads, samePads, windowExtent } from "./graph/window.js";
export type { Kernel, KernelTable, KernelTensor } from "./kernel-backend/kernel.js";
export type { KernelBackendOptions } from "./kernel-backend/kernel-backend.js";
export { kernelBackend } from "./kernel-backend/kernel-backend.js";
export { libraryTolerance } from "./kernel-backend/library-tolerance.js";
export { type NonFiniteProbe, nonFiniteProbe } from "./kernel-backend/non-finite-probe.js";
export {
  emitPairs,
  type HalfPair,
  type ProbeGraph,
  type ProbePair,
  type ProbeResults,
  pairKey,
} from "./kernel-backend/probe-pairs.js";
export { opsThatF32Fixes, type RunWidened } from "./kernel-backend/rounding-probe.js";
export { type SumProbe, sumProbe } from "./kernel-backend/sum-probe.js";
export type { LivenessOptions, Peak } from "./transform/liveness.js";
export { peakLiveBytes } from "./transform/liveness.js";
