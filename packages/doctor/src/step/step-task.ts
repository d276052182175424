/** Messages to and from the child process: plain data. */
import type { EngineName, StepDevice } from "../engines/engine-table.js";

export interface StepTask {
  readonly engine: EngineName | "reference";
  readonly device: StepDevice;
  /** URL of the backend's entry. */
  readonly entry: string;
  /** URL of the entry of `@mp/core`. */
  readonly core: string;
}

export type StepAnswer =
  | {
      readonly kind: "made";
      readonly engine: string;
      readonly version: string;
      readonly device: string;
      /** The precision that `mixed()` chose, such as `mixed_bfloat16`. */
      readonly precision: string;
      readonly native: readonly string[];
      readonly loss: number;
      readonly expected: number;
      readonly applied: boolean;
      /** Time for loading, compiling and the step. */
      readonly seconds: number;
    }
  | { readonly kind: "failed"; readonly code: string; readonly message: string; readonly install?: string };
