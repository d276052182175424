/**
 * `@mp/core/backend`: what authors of backends build on. `kernelBackend` makes a whole backend of a table of
 * kernels; the checks below it are the edge of every backend of ours, so that refusals read the same everywhere.
 * What `@mp/core` exports as well (`validateGraph`, `opDTypes`, `decidingDType`) is part of the graph's vocabulary.
 */

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
export { type ProbeSite, probeTable } from "./kernel-backend/probe-table.js";
export { expectRunInputs } from "./kernel-backend/run-inputs.js";
export { StateTypes } from "./kernel-backend/state-types.js";
export { WorkQueue } from "./kernel-backend/work-queue.js";
export type { LivenessOptions, Peak } from "./transform/liveness.js";
export { peakLiveBytes } from "./transform/liveness.js";
