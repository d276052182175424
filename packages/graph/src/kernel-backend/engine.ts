import type { Storages } from "../backend/storages.js";
import type { KernelTable } from "./kernel.js";

/** State that the programs of one kernel backend share. */
export interface Engine<T> {
  readonly kernels: KernelTable<T>;
  readonly storages: Storages<T>;
}
