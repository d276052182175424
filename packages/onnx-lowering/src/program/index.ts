export { allocateAdjacent } from "./allocate-adjacent.js";
export { ConstantPool, type PooledConstant, releaseConstants } from "./constant-pool.js";
export type { EngineMemory, EngineTensor } from "./engine-memory.js";
export { RunPacer } from "./pace.js";
export { PingPongSlots } from "./ping-pong-slots.js";
export { PreparedBindings } from "./prepared-bindings.js";
export { profileRows } from "./profile-rows.js";
export { growStacks } from "./stacks.js";
export { kernelBytes, rawBytes } from "./tensor-bytes.js";
