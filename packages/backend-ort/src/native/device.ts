import type { OrtLibrary } from "./library.js";
import type { DeviceUse, SessionParts } from "./session.js";
import type { TensorPlace } from "./tensor.js";
import type { Turns } from "./turns.js";

export type DeviceName = "cpu" | "cuda" | "webgpu";

/** A device other than the processor: how sessions use it, and its memory. */
export interface Device {
  readonly turns: Turns;
  /** Whether the device records and replays a step that runs wholly on it. */
  readonly captures: boolean;
  /** Adds the execution provider to session options under construction. */
  append(library: OrtLibrary, sessionOptions: bigint, use: DeviceUse): void;
  /** @throws MP_BACKEND_UNAVAILABLE naming what is missing and what installs it */
  open(parts: SessionParts, hostAllocator: bigint): Promise<DevicePlace>;
  /** Explains a provider's error to the user; other errors are returned unchanged. */
  explain(library: OrtLibrary, cause: unknown): unknown;
}

export interface DevicePlace extends TensorPlace {
  release(): void;
}
