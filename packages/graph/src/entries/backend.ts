/** `@mp/core/backend`: for authors of backends. */

// What a backend is made of: functions of an engine that runs whole graphs, or a table of kernels
export { defineBackend } from "../backend/define-backend.js";
export type { BackendHooks, FeedFunctions, Place, Program } from "../backend/hooks.js";
export type { Bound } from "../backend/bindings.js";
export { kernelBackend, type KernelBackendOptions } from "../kernel-backend/kernel-backend.js";
export type { Kernel, KernelTable, KernelTensor } from "../kernel-backend/kernel.js";

// Its manifest: `@mp/core/probe` asks the engine for it
export { deriveManifest, exactNumerics, opSupport } from "../backend/manifest.js";
export { libraryTolerance } from "../backend/library-tolerance.js";
export { unsupportedReason, type DTypeSupport } from "../contract/manifest.js";
export { pairKey } from "../probe/pair-key.js";
