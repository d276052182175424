/** Messages to and from the child process: plain data. */
import type { EngineName } from "../engines/engine-table.js";

export type StepDevice = "cpu" | "cuda" | "webgpu";

export interface StepTask {
  readonly engine: EngineName | "reference";
  readonly device: StepDevice;
  /** URL of the backend's entry. */
  readonly entry: string;
  /** URL of `@mp/core`: the copy that the backend uses. */
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
      /** From loading the backend to the end of the step, compiling included. */
      readonly seconds: number;
    }
  | { readonly kind: "failed"; readonly code: string; readonly message: string; readonly install?: string };
