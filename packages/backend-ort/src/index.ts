import { type Backend, MpError } from "@mp/graph";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { ortBackend } from "./backend.js";
import { ortManifest } from "./manifest.js";
import { openRuntime, type RuntimeOptions } from "./native/index.js";
import { probeOnce } from "./probe/probe-once.js";

export type OrtOptions = RuntimeOptions;

const { integer, listOf, oneOf, optional, text, truth } = checks;

/** Whether a value is a record of nonempty strings, because the library crashes on anything else. */
const isTextByName = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.entries(value).every(([name, entry]) => name !== "" && typeof entry === "string" && entry !== "");

const PROVIDER = optional(
  checks.claim('an object of the provider\'s options, all of them text, such as { name: "1" }', isTextByName),
);

/** Provider options whose values are addresses of objects in a C program. */
const ADDRESSES = ["deviceId", "webgpuInstance", "webgpuDevice", "dawnProcTable"];

const WEBGPU_PROVIDER = (what: string, provider: unknown): void => {
  PROVIDER(what, provider);
  const found = ADDRESSES.find((name) => provider !== undefined && Object.hasOwn(provider as object, name));
  if (found === undefined) return;
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `${what}: ${found} takes a device that a C program opened; leave it out`,
    { details: { option: found } },
  );
};

const CUDA = {
  deviceId: optional(integer(0)),
  tf32: optional(truth),
  memoryLimit: optional(integer(1)),
  graphCapture: optional(truth),
  provider: PROVIDER,
};

const WEBGPU = {
  powerPreference: optional(oneOf("high-performance", "low-power")),
  maxBufferBytes: optional(integer(2 ** 27)),
  graphCapture: optional(truth),
  provider: WEBGPU_PROVIDER,
};

const ORT = {
  device: withDefault("cpu", oneOf("cpu", "cuda", "webgpu")),
  cuda: optional((what, given) => {
    readOptions(what, given as NonNullable<OrtOptions["cuda"]>, CUDA, { example: "{ deviceId: 0 }" });
  }),
  webgpu: optional((what, given) => {
    const example = '{ powerPreference: "low-power" }';
    readOptions(what, given as NonNullable<OrtOptions["webgpu"]>, WEBGPU, { example });
  }),
  library: optional(text),
  searchFrom: optional(listOf("paths", (path) => typeof path === "string")),
  platform: optional(text),
  arch: optional(text),
  threads: optional(integer(0, 1024)),
  spinning: optional(truth),
};

/**
 * Opens ONNX Runtime: on the CPU with the library that `onnxruntime-node` ships, on any GPU through
 * that library's WebGPU, or on CUDA.
 * @example
 * ```ts
 * const backend = await ort();
 * ```
 * @throws MP_INVALID_ARGUMENT for an unknown option or device, or options of a device that was not asked for
 * @throws MP_BACKEND_UNAVAILABLE naming the package, library or driver that is missing and what installs it
 */
export async function ort(options: OrtOptions = {}): Promise<Backend> {
  readOptions("ort", options, ORT, { example: '{ device: "cpu" }' });
  expectDevice(options);
  const runtime = await openRuntime(options);
  try {
    const engine = { name: "onnxruntime", version: runtime.library.version };
    const findings = await probeOnce(runtime);
    return ortBackend(runtime, ortManifest(engine, runtime.device, findings), findings);
  } catch (error) {
    await runtime.dispose();
    throw error;
  }
}

/** Refuses options of a device without `device`, which would silently compute on the processor. */
function expectDevice(options: OrtOptions): void {
  if (options.device !== undefined) return;
  const device = (["cuda", "webgpu"] as const).find((name) => options[name] !== undefined);
  if (device === undefined) return;
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `ort: ${device}: has options, but device is not given and would be "cpu"; pass device: "${device}" too`,
    { details: { option: device } },
  );
}
