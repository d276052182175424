/**
 * `@mp/core/backend`: the building blocks for backend authors. `kernelBackend` turns a table of kernels into a backend.
 * Our own backends check their arguments with the checks below it, so error messages are the same everywhere. Names
 * that `@mp/core` exports too (`validateGraph`, `opDTypes`, `decidingDType`) belong to the graph's op set.
 */

export type { AddingOp } from "./graph/adding-ops.js";
export { ADDING_OPS, addsUp } from "./graph/adding-ops.js";
export { plainEquation } from "./graph/einsum-equation.js";
export { decidingDType, opDTypes } from "./graph/op-dtypes.js";
export { tapCounts, tapsOf, withoutCeiling } from "./graph/pooling-window.js";
export { validateGraph } from "./graph/validate.js";
export { halvedPads, samePads, windowExtent } from "./graph/window.js";
export type { Bound, Replacement } from "./kernel-backend/bindings.js";
export { resolveBindings } from "./kernel-backend/bindings.js";
export { expectHostTensor } from "./kernel-backend/check-tensor.js";
export { emulationWarnings } from "./kernel-backend/emulation-warnings.js";
export type { StorageFunctions } from "./kernel-backend/engine.js";
export type { Borrowed } from "./kernel-backend/handle-table.js";
export { HandleTable } from "./kernel-backend/handle-table.js";
export type { Kernel, KernelTable, KernelTensor } from "./kernel-backend/kernel.js";
export type { KernelBackendOptions } from "./kernel-backend/kernel-backend.js";
export { kernelBackend } from "./kernel-backend/kernel-backend.js";
export { libraryTolerance } from "./kernel-backend/library-tolerance.js";
export type { KernelManifest, Missing } from "./kernel-backend/manifest.js";
export {
  deriveManifest,
  exactNumerics,
  expectDTypeSupported,
  expectGraphSupported,
  expectStateSupported,
  opSupport,
} from "./kernel-backend/manifest.js";
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
export { expectRunInputs } from "./kernel-backend/run-inputs.js";
export { StateTypes } from "./kernel-backend/state-types.js";
export { type SumProbe, sumProbe } from "./kernel-backend/sum-probe.js";
export { WorkQueue } from "./kernel-backend/work-queue.js";
export { expandEinsums } from "./transform/expand-einsum.js";
export type { LivenessOptions, Peak } from "./transform/liveness.js";
export { peakLiveBytes } from "./transform/liveness.js";
