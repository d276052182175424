/**
 * The WebGPU execution provider. It is part of the library itself and computes through Vulkan, Metal or Direct3D 12,
 * whichever the machine has.
 */

import { MpError } from "@mp/graph";
import { Ledger } from "@mp/graph/internal";
import { storageOf } from "@mp/onnx-lowering";
import { DEFAULT_MEMORY, DEVICE_ALLOCATOR } from "./allocator.js";
import { COPY_MODEL } from "./copy-model.js";
import { PROOF_TYPE, TensorCopier } from "./copy-tensors.js";
import type { Device, DevicePlace } from "./device.js";
import { acquireEnvironment } from "./environment.js";
import type { OrtLibrary } from "./library.js";
import { createSession, type DeviceUse, type SessionParts } from "./session.js";
import { NativeTensor, type TensorPlace } from "./tensor.js";
import { SerialTurns } from "./turns.js";

export interface WebgpuOptions {
  /** Which kind of GPU to use if there are several. Default "high-performance". */
  readonly powerPreference?: "high-performance" | "low-power";
  /** Largest tensor in bytes that a shader can access, at least 134217728. Default: what the GPU allows. */
  readonly maxBufferBytes?: number;
  /** Whether to record the commands of a step that runs wholly on the GPU and replay them. Default true. */
  readonly graphCapture?: boolean;
  /** Further options of the provider, by its own names, such as `dawnBackendType` or `validationMode`. */
  readonly provider?: Readonly<Record<string, string>>;
}

/** All sessions of a process share one GPU device, which the library does not lock. */
const TURNS = new SerialTurns();

export const webgpuDevice = (options: WebgpuOptions = {}): Device => ({
  turns: TURNS,
  captures: options.graphCapture ?? true,
  append: (library, sessionOptions, use) => appendWebgpu(library, sessionOptions, options, use),
  open: (parts) => openWebgpuPlace(parts, options),
  explain: explainWebgpuFailure,
});

/** The provider's name for its memory. */
const DEVICE_MEMORY = "WebGPU_Buf";

interface Opened {
  readonly place: TensorPlace;
  readonly settings: string;
}

/**
 * The GPU of each library, opened once per process and kept. Otherwise the library would free the device with
 * its last session, and the environment's own copier would then work on freed memory.
 */
const opened = new Map<OrtLibrary, Promise<Opened>>();

async function openWebgpuPlace(parts: SessionParts, options: WebgpuOptions): Promise<DevicePlace> {
  const settings = deviceSettings(options);
  const opening = opened.get(parts.library) ?? makePlace(parts, settings);
  opened.set(parts.library, opening);
  // A failure belongs to the runtime that asked; the next runtime tries again.
  opening.catch(() => opened.delete(parts.library));
  const { place, settings: inUse } = await opening;
  if (settings !== inUse) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `webgpu: a process opens its GPU once, and this one has it with the options ${inUse}, got ${settings}; use the same options, or another process`,
      { details: { inUse, asked: settings } },
    );
  }
  return { ...place, release: () => undefined };
}

async function makePlace(parts: SessionParts, settings: string): Promise<Opened> {
  const { library } = parts;
  const { functions, make } = library;
  const environment = acquireEnvironment(library);
  try {
    const session = await createSession({ ...parts, environment, ledger: new Ledger() }, COPY_MODEL);
    const memory = make("device memory", (out) =>
      functions.CreateMemoryInfo(DEVICE_MEMORY, DEVICE_ALLOCATOR, 0, DEFAULT_MEMORY, out),
    );
    const allocator = make("device memory", (out) => functions.CreateAllocator(session.handle, memory, out));
    // The tensor lives as long as the device, so it is in no runtime's ledger.
    const proof = new NativeTensor(library, new Ledger(), PROOF_TYPE, { allocator });
    const copier = new TensorCopier(library, environment.handle, proof);
    return { place: { allocator, copier, storage: storageOf({ device: "webgpu" }) }, settings };
  } catch (error) {
    environment.release();
    throw error;
  }
}

/** The user's device options as text, with the provider's options sorted by name. */
function deviceSettings({ powerPreference, maxBufferBytes, provider = {} }: WebgpuOptions): string {
  const entries = Object.entries(provider).sort(([a], [b]) => (a < b ? -1 : 1));
  const sorted = entries.length === 0 ? {} : { provider: Object.fromEntries(entries) };
  return JSON.stringify({ powerPreference, maxBufferBytes, ...sorted });
}

function appendWebgpu(
  { functions, check }: OrtLibrary,
  sessionOptions: bigint,
  { powerPreference, maxBufferBytes, provider }: WebgpuOptions,
  { capture }: DeviceUse,
): void {
  const entries = Object.entries({
    // The engine's own nodes need i64 for shapes and indices.
    enableInt64: "1",
    preferredLayout: "NCHW",
    ...(capture === true ? { enableGraphCapture: "1" } : {}),
    ...(powerPreference === undefined ? {} : { powerPreference }),
    ...(maxBufferBytes === undefined ? {} : { maxStorageBufferBindingSize: String(maxBufferBytes) }),
    ...provider,
  });
  const names = entries.map(([name]) => name);
  const values = entries.map(([, value]) => value);
  check(
    functions.AppendExecutionProvider(sessionOptions, "WebGPU", names, values, entries.length),
    "device webgpu",
  );
}

const DRIVERS: Readonly<Partial<Record<NodeJS.Platform, string>>> = {
  linux:
    "install Vulkan's loader and the GPU's driver (on Debian and Ubuntu: apt-get install libvulkan1 mesa-vulkan-drivers, or NVIDIA's own driver) and check that vulkaninfo lists the GPU; Mesa older than 23 is not taken",
  win32: "install the GPU's driver, with Direct3D 12 or Vulkan",
  darwin: "it takes a Mac with Metal",
};

/** Matches the library's refusal of an option in `provider`, and its reason. */
const REFUSED_OPTION = /Parse(?:WebGpuContext|Ep)Config\(.*(Invalid .*)/s;

interface Explanation {
  readonly pattern: RegExp;
  readonly missing: string;
  readonly remedy: string;
}

const EXPLANATIONS: readonly Explanation[] = [
  {
    pattern: /Failed to get a WebGPU (adapter|device)/,
    missing: "a GPU that WebGPU takes",
    remedy: DRIVERS[process.platform] ?? "install the GPU's driver",
  },
  {
    pattern: /not (supported|enabled|available) in this build|unknown provider|Unknown provider/i,
    missing: "WebGPU in this ONNX Runtime library",
    remedy:
      "onnxruntime-node has it from 1.30 on for linux/x64, darwin/arm64, win32/x64 and win32/arm64; leave the library option out there",
  },
];

function explainWebgpuFailure({ path, version }: OrtLibrary, cause: unknown): unknown {
  if (!MpError.is(cause)) return cause;
  const [, refusal] = REFUSED_OPTION.exec(cause.message) ?? [];
  if (refusal !== undefined) {
    return new MpError(
      "MP_INVALID_ARGUMENT",
      `ort: webgpu: provider: ONNX Runtime ${version} refuses an option: ${refusal.trim()}; correct it, or leave it out`,
      { cause },
    );
  }
  const found = EXPLANATIONS.find(({ pattern }) => pattern.test(cause.message));
  if (found === undefined) return cause;
  const { missing, remedy } = found;
  return new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `device webgpu: ${missing} is missing; ${remedy} (ONNX Runtime ${version}: ${cause.message.trim()})`,
    { details: { missing, file: path, version }, cause },
  );
}
