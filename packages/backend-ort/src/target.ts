import type { HalfDType } from "@mp/core";

/** What lowering has to know of the engine that it lowers for. */
export interface Target {
  readonly device: "cpu" | "cuda";
  /** Halves that are carried in f32. */
  readonly emulated: readonly HalfDType[];
  /** Channels that the engine's blocked convolutions keep together; undefined where it has none. */
  readonly blockSize: number | undefined;
}
