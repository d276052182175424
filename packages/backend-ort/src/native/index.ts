export { arenaStats } from "./arena.js";
export type { NativeBinding } from "./binding.js";
export { ON_DEVICE_ONLY, PROCESSOR, placement, RECORD_PLACEMENT } from "./placement.js";
export { profileRun } from "./profile.js";
export { NativeRuntime, openRuntime, type RuntimeOptions } from "./runtime.js";
export type { NativeSession } from "./session.js";
export type { NativeTensor } from "./tensor.js";
export type { Turns } from "./turns.js";
