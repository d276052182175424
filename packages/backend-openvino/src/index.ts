import type { Backend } from "@mp/graph";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { locateLibrary, RELEASE } from "@mp/libopenvino";
import { storageOf, targetOf } from "@mp/onnx-lowering";
import { openvinoBackend } from "./backend.js";
import { openvinoManifest } from "./manifest.js";
import { NativeRuntime } from "./native/index.js";
import { probeOnce } from "./probe/probe-once.js";

export interface OpenVinoOptions {
  /** Threads that a step uses, from 1 to 1024; default: one per core. */
  readonly threads?: number;
  /** A folder that keeps compiled models for later processes; it is created if missing. Default: none are kept. */
  readonly cache?: string;
  /** An absolute path to `libopenvino_c`. Default: MP_OPENVINO, else the library that `mp-libopenvino` installed. */
  readonly library?: string;
  /** The version that the library must have; default: the pinned release. A library of another version is refused. */
  readonly version?: string;
}

const { integer, optional, path, text } = checks;

const OPTIONS = {
  threads: optional(integer(1, 1024)),
  cache: optional(path),
  library: optional(text),
  version: withDefault(RELEASE, text),
};

/**
 * Opens OpenVINO on the processor, with the library that `mp-libopenvino` installs.
 * @example
 * ```ts
 * const backend = await openvino();
 * ```
 * @throws MP_INVALID_ARGUMENT for an unknown option
 * @throws MP_BACKEND_UNAVAILABLE for a library that is missing or of another version, naming the remedy
 * @throws MP_IO for a `cache` that is not a folder and cannot be created
 */
export async function openvino(options: OpenVinoOptions = {}): Promise<Backend> {
  const { library, ...rest } = readOptions("openvino", options, OPTIONS, { example: "{ threads: 2 }" });
  const runtime = new NativeRuntime({ library: locateLibrary(library, process.env), ...rest });
  try {
    const findings = await probeOnce(runtime);
    const target = targetOf(findings);
    runtime.storage = storageOf(target);
    return openvinoBackend(runtime, openvinoManifest(runtime.library.version, findings), target);
  } catch (error) {
    await runtime.dispose();
    throw error;
  }
}
