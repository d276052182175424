export { DeviceBuffer } from "./buffer.js";
export { Client } from "./client.js";
export type { Flags } from "./compile-options.js";
export { settle, settleAll } from "./event.js";
export type { NativeExecutable } from "./executable.js";
export { unavailable } from "./failure.js";
export type { NamedOptions } from "./named-values.js";
export { loadPlugin, type Plugin } from "./plugin.js";
