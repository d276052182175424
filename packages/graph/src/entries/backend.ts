/** `@mp/graph/backend`: for authors of backends. */

// What a backend is made of: functions of an engine that runs whole graphs, or a table of kernels
export type { Bound } from "../backend/bindings.js";
export { defineBackend } from "../backend/define-backend.js";
export type { BackendHooks, FeedFunctions, Place, Program } from "../backend/hooks.js";
export { libraryTolerance } from "../backend/library-tolerance.js";
// Its manifest: `@mp/graph/probe` asks the engine for it
export { deriveManifest, exactNumerics, opSupport } from "../backend/manifest.js";
export { type DTypeSupport, unsupportedReason } from "../contract/manifest.js";
export type { Kernel, KernelTable, KernelTensor } from "../kernel-backend/kernel.js";
export { type KernelBackendOptions, kernelBackend } from "../kernel-backend/kernel-backend.js";
export { pairKey } from "../probe/pair-key.js";
