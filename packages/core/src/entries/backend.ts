/** `@mp/core/backend`: for authors of backends. `kernelBackend` turns a table of kernels into a backend. */

// The interface
export type {
  Backend,
  BackendStats,
  BackendWarning,
  CompileOptions,
  EngineTensor,
  Executable,
  Handle,
  MemoryReport,
  ProfileRow,
  RunInput,
  State,
  StateBinding,
} from "../backend.js";
export {
  accumulatorOf,
  defineManifest,
  unsupportedReason,
  type BackendManifest,
  type Accumulation,
  type Accumulators,
  type DTypeSupport,
  type Nativeness,
  type OpTolerance,
  type Support,
  type Ulp,
} from "../manifest.js";

// The kit
export { resolveBindings, type Bound, type Replacement } from "../backend/bindings.js";
export { expectHostTensor } from "../backend/check-tensor.js";
export { emulationWarnings } from "../backend/emulation-warnings.js";
export { defineBackend } from "../backend/define-backend.js";
export type {
  Awaitable,
  BackendHooks,
  FeedFunctions,
  Named,
  Place,
  Program,
  StateFunctions,
  StorageFunctions,
} from "../backend/hooks.js";
export { HandleTable } from "../backend/handle-table.js";
export type { Kernel, KernelTable, KernelTensor } from "../kernel-backend/kernel.js";
export { kernelBackend, type KernelBackendOptions } from "../kernel-backend/kernel-backend.js";
export { libraryTolerance } from "../kernel-backend/library-tolerance.js";
export {
  deriveManifest,
  exactNumerics,
  expectDTypeSupported,
  expectGraphSupported,
  expectStateSupported,
  opSupport,
  type KernelManifest,
  type Missing,
} from "../backend/manifest.js";
export { nonFiniteProbe, type NonFiniteProbe } from "../kernel-backend/non-finite-probe.js";
export {
  emitPairs,
  pairKey,
  type HalfPair,
  type ProbeGraph,
  type ProbePair,
  type ProbeResults,
} from "../kernel-backend/probe-pairs.js";
export { opsThatF32Fixes, type RunWidened } from "../kernel-backend/rounding-probe.js";
export { expectRunInputs } from "../backend/run-inputs.js";
export { StateTypes } from "../backend/state-types.js";
export { sumProbe, type SumProbe } from "../kernel-backend/sum-probe.js";
export { WorkQueue } from "../backend/work-queue.js";
