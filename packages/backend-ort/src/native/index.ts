export { arenaStats } from "./arena.js";
export type { NativeBinding } from "./binding.js";
export { executionOrder, lateFirst, listForSchedule, type OrderedNode } from "./execution-order.js";
export { RunPacer } from "./pace.js";
export { profileRows, profileRun } from "./profile.js";
export { NativeRuntime, openRuntime, type RuntimeOptions } from "./runtime.js";
export type { NativeSession } from "./session.js";
export type { NativeTensor } from "./tensor.js";
