import type { Backend } from "@mp/core";
import { checks, readOptions } from "@mp/core/internal";
import { locateLibrary } from "@mp/libopenvino";
import { type Findings, storageOf, targetOf } from "@mp/onnx-lowering";
import { probeEngine } from "@mp/onnx-lowering/probe";
import { openvinoBackend } from "./backend.js";
import { openvinoManifest } from "./manifest.js";
import { NativeRuntime } from "./native/index.js";
import { probedEngine } from "./probed-engine.js";

export interface OpenVinoOptions {
  /** Threads that a step uses; default: one per core. */
  readonly threads?: number;
  /** A folder in which the library keeps compiled models, so that the next process need not compile them. */
  readonly cache?: string;
  /** An absolute path to `libopenvino_c`; default: the variable MP_OPENVINO, then where `mp-libopenvino` put it. */
  readonly library?: string;
}

const { integer, optional, text } = checks;

const OPTIONS = {
  threads: optional(integer(1, 1024)),
  cache: optional(text),
  library: optional(text),
};

/** By library: an engine does not change while a process runs. */
const known = new WeakMap<NativeRuntime["library"], Promise<Findings>>();

function findingsOf(runtime: NativeRuntime): Promise<Findings> {
  const { library } = runtime;
  const findings = known.get(library) ?? probeEngine(probedEngine(runtime));
  known.set(library, findings);
  // A failure belongs to the runtime that asked; the next one probes again.
  findings.catch(() => known.delete(library));
  return findings;
}

/**
 * Opens OpenVINO on the processor, with the library that `mp-libopenvino` installs.
 * @example
 * ```ts
 * const backend = await openvino();
 * ```
 * @throws MP_INVALID_ARGUMENT for an unknown option
 * @throws MP_BACKEND_UNAVAILABLE naming the library that is missing and what installs it
 */
export async function openvino(options: OpenVinoOptions = {}): Promise<Backend> {
  readOptions("openvino", options, OPTIONS, { example: "{ threads: 2 }" });
  const { threads, cache } = options;
  const runtime = new NativeRuntime({ library: locateLibrary(options.library, process.env), threads, cache });
  try {
    const findings = await findingsOf(runtime);
    const target = targetOf(findings);
    runtime.storage = storageOf(target);
    return openvinoBackend(runtime, openvinoManifest(runtime.library.version, findings), target);
  } catch (error) {
    await runtime.dispose();
    throw error;
  }
}
