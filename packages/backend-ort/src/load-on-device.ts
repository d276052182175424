import { type Executable, MpError } from "@mp/graph";
import {
  type NativeRuntime,
  type NativeSession,
  ON_DEVICE_ONLY,
  PROCESSOR,
  placement,
  RECORD_PLACEMENT,
} from "./native/index.js";

export interface Loaded {
  readonly session: NativeSession;
  readonly warnings: Executable["warnings"];
}

/** Matches the engine's messages that a model would not run wholly on the device. */
const NOT_WHOLE = /fallback to CPU EP has been explicitly disabled|cannot use the graph capture/i;

/**
 * Loads a model for a device other than the processor. If the device can record runs and the model runs
 * wholly on it, runs are recorded and replayed. A warning names nodes that fall back to the processor.
 */
export async function loadOnDevice(runtime: NativeRuntime, model: Uint8Array): Promise<Loaded> {
  if (runtime.captures) {
    try {
      return {
        session: await runtime.createSession(model, { capture: true, config: ON_DEVICE_ONLY }),
        warnings: [],
      };
    } catch (error) {
      if (!MpError.is(error) || !NOT_WHOLE.test(error.message)) throw error;
    }
  }
  const session = await runtime.createSession(model, { config: RECORD_PLACEMENT });
  return { session, warnings: fallbackWarnings(runtime.device, session) };
}

function fallbackWarnings(device: string, session: NativeSession): Executable["warnings"] {
  const fallen = placement(session).filter(({ provider }) => provider === PROCESSOR);
  if (fallen.length === 0) return [];
  const counts = new Map<string, number>();
  for (const { op } of fallen) counts.set(op, (counts.get(op) ?? 0) + 1);
  const ops = [...counts].map(([op, count]) => (count === 1 ? op : `${count} × ${op}`)).join(", ");
  return [
    {
      type: "fallback",
      message: `ort: on ${device} these nodes run on the processor, and what they read and give is copied in every run: ${ops}`,
    },
  ];
}
