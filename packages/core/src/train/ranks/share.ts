import type { Ranks } from "../../ranks.js";

/** Gives all ranks what rank 0 got when it stored a checkpoint. */
export type Share<T> = (ranks: Ranks, stored: T | undefined) => Promise<T>;

/** A file is rank 0's alone. */
export const fileOfRankZero: Share<void> = async () => undefined;

export const bytesOfAll: Share<Uint8Array<ArrayBuffer>> = async (ranks, bytes) =>
  new Uint8Array(await ranks.broadcast(bytes));
