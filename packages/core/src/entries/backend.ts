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

// What a backend is made of
export type { Bound } from "../backend/bindings.js";
export { defineBackend } from "../backend/define-backend.js";
export type {
  BackendHooks,
  FeedFunctions,
  Place,
  Program,
  StateFunctions,
  StorageFunctions,
} from "../backend/hooks.js";
export { kernelBackend, type KernelBackendOptions } from "../kernel-backend/kernel-backend.js";
export type { Kernel, KernelTable, KernelTensor } from "../kernel-backend/kernel.js";

// Its manifest
export { deriveManifest, exactNumerics, opSupport, type KernelManifest } from "../backend/manifest.js";
export { libraryTolerance } from "../backend/library-tolerance.js";
export * as probes from "../probe/index.js";
