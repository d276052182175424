import type { OwnLowering, OwnLoweringsOf } from "./own-lowering.js";

/** The engine runs nodes in our order and shares nothing across a barrier, so a barrier has nothing left to do. */
const barrier: OwnLowering<"Barrier"> = (_node, [x = ""]) => [x];

export const sourceLowerings: OwnLoweringsOf<"source"> = { Barrier: barrier };
