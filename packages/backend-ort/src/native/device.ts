import type { OrtLibrary } from "./library.js";
import type { DeviceUse, SessionParts } from "./session.js";
import type { TensorPlace } from "./tensor.js";
import type { Turns } from "./turns.js";

export type DeviceName = "cpu" | "cuda" | "webgpu";

/** A device beside the processor: how sessions compute on it, and its memory. */
export interface Device {
  readonly turns: Turns;
  /** Whether a step that is wholly on the device is recorded and replayed. */
  readonly captures: boolean;
  /** Adds the execution provider to session options under construction. */
  append(library: OrtLibrary, sessionOptions: bigint, use: DeviceUse): void;
  /** @throws MP_BACKEND_UNAVAILABLE naming what is missing and what installs it */
  open(parts: SessionParts, hostAllocator: bigint): Promise<DevicePlace>;
  /** An error of the provider by what it means for the user; others are returned unchanged. */
  explain(library: OrtLibrary, cause: unknown): unknown;
}

export interface DevicePlace extends TensorPlace {
  release(): void;
}
