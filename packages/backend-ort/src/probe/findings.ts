import type { HalfDType } from "@mp/core";
import { emulatedAmong } from "../dtype.js";
import type { NativeRuntime } from "../native/index.js";
import { blockSize } from "./probe-blocks.js";
import { nativeHalves } from "./probe-halves.js";
import { type Missing, probeKernels } from "./probe-kernels.js";

/** What an engine was found to do. */
export interface Findings {
  readonly nativeHalves: readonly HalfDType[];
  readonly missing: Missing;
  /** Channels that its blocked convolutions keep together; undefined where it has none. */
  readonly blockSize: number | undefined;
}

/** By library and device: an engine does not change while a process runs. */
const known = new WeakMap<NativeRuntime["library"], Map<NativeRuntime["device"], Promise<Findings>>>();

/** Asks the engine what it computes, once a process. */
export function probeEngine(runtime: NativeRuntime): Promise<Findings> {
  const { library, device } = runtime;
  const ofLibrary = known.get(library) ?? new Map<NativeRuntime["device"], Promise<Findings>>();
  known.set(library, ofLibrary);
  const findings = ofLibrary.get(device) ?? probe(runtime);
  ofLibrary.set(device, findings);
  // A failure is the runtime's that asked; the next one asks again.
  findings.catch(() => ofLibrary.delete(device));
  return findings;
}

async function probe(runtime: NativeRuntime): Promise<Findings> {
  const native = await nativeHalves(runtime);
  const blocks = await blockSize(runtime);
  const target = { device: runtime.device, emulated: emulatedAmong(native), blockSize: blocks };
  return { nativeHalves: native, missing: await probeKernels(runtime, target), blockSize: blocks };
}
