/**
 * The CUDA execution provider: its options, explanations why it does not load, and its device memory. All
 * CUDA code is in libraries in the folder of ONNX Runtime's library.
 */

import { dirname } from "node:path";
import { MpError } from "@mp/graph";
import { Ledger } from "@mp/graph/internal";
import { ARENA_ALLOCATOR, DEFAULT_MEMORY } from "./allocator.js";
import { COPY_MODEL } from "./copy-model.js";
import type { Device, DevicePlace } from "./device.js";
import { IdentityCopier } from "./device-copy.js";
import type { OrtLibrary } from "./library.js";
import { createSession, type DeviceUse, type SessionParts } from "./session.js";
import { NO_TURNS } from "./turns.js";

export interface CudaOptions {
  /** CUDA's index of the GPU. Default 0. */
  readonly deviceId?: number;
  /**
   * Whether float32 matrix products and convolutions may round their factors to TF32, which has 10 fraction
   * bits instead of 23. Default false.
   */
  readonly tf32?: boolean;
  /** Largest size in bytes of each session's arena; state and batches are not in it. Default: no limit. */
  readonly memoryLimit?: number;
  /** Whether steps that are wholly on the GPU are recorded as CUDA graphs. Default false, since this is untested. */
  readonly graphCapture?: boolean;
  /** Further options of the provider, by the provider's names; they override those set here. */
  readonly provider?: Readonly<Record<string, string>>;
}

export const cudaDevice = (options: CudaOptions = {}): Device => ({
  turns: NO_TURNS,
  captures: options.graphCapture ?? false,
  append: (library, sessionOptions, use) => appendCuda(library, sessionOptions, options, use),
  open: (parts, hostAllocator) => openCudaPlace(parts, hostAllocator, options),
  explain: explainCudaFailure,
});

/** Opens the session that copies and allocates. It has its own ledger, so users cannot release it. */
async function openCudaPlace(
  parts: SessionParts,
  hostAllocator: bigint,
  options: CudaOptions,
): Promise<DevicePlace> {
  const { functions, make } = parts.library;
  const session = await createSession({ ...parts, ledger: new Ledger() }, COPY_MODEL);
  const memory = make("device memory", (out) =>
    functions.CreateMemoryInfo("Cuda", ARENA_ALLOCATOR, options.deviceId ?? 0, DEFAULT_MEMORY, out),
  );
  const allocator = make("device memory", (out) => functions.CreateAllocator(session.handle, memory, out));
  return {
    allocator,
    copier: new IdentityCopier(session, memory, hostAllocator),
    release: () => {
      functions.ReleaseAllocator(allocator);
      functions.ReleaseMemoryInfo(memory);
      session.release();
    },
  };
}

/**
 * The provider's options. Convolution algorithms are not searched by trial, which would take minutes and could change
 * results between runs. The arena grows by the requested size; growth by powers of two could hold up to twice what was
 * requested.
 */
export function cudaProviderOptions(
  options: CudaOptions = {},
  { capture = false }: DeviceUse = {},
): Readonly<Record<string, string>> {
  const { deviceId = 0, tf32 = false, memoryLimit, provider } = options;
  return {
    device_id: String(deviceId),
    use_tf32: tf32 ? "1" : "0",
    cudnn_conv_algo_search: "HEURISTIC",
    arena_extend_strategy: "kSameAsRequested",
    ...(capture ? { enable_cuda_graph: "1" } : {}),
    ...(memoryLimit === undefined ? {} : { gpu_mem_limit: String(memoryLimit) }),
    ...provider,
  };
}

/**
 * Adds the CUDA provider to session options.
 * @throws MP_BACKEND_UNAVAILABLE naming what is missing: provider library, CUDA, cuDNN or driver
 */
function appendCuda(library: OrtLibrary, sessionOptions: bigint, options: CudaOptions, use: DeviceUse): void {
  const { functions, check, make } = library;
  const entries = Object.entries(cudaProviderOptions(options, use));
  try {
    const handle = make("CUDA options", (out) => functions.CreateCudaProviderOptions(out));
    try {
      check(
        functions.UpdateCudaProviderOptions(
          handle,
          entries.map(([key]) => key),
          entries.map(([, value]) => value),
          entries.length,
        ),
        "CUDA options",
      );
      check(functions.AppendExecutionProviderCuda(sessionOptions, handle), "CUDA");
    } finally {
      functions.ReleaseCudaProviderOptions(handle);
    }
  } catch (cause) {
    throw explainCudaFailure(library, cause);
  }
}

interface Explanation {
  readonly pattern: RegExp;
  readonly missing: string;
  readonly remedy: (library: OrtLibrary) => string;
}

const driver = () => "install NVIDIA's driver and check that nvidia-smi lists the GPU";
const toolkit = () =>
  "install CUDA and cuDNN of the major versions that the message names, where the loader finds them (LD_LIBRARY_PATH)";

/** Explanations of load failures, in the order of loading; the first that matches tells which part is missing. */
const EXPLANATIONS: readonly Explanation[] = [
  {
    pattern: /not enabled in this build/,
    missing: "a library with CUDA",
    remedy: ({ version }) =>
      `load the one of the PyPI wheel onnxruntime-gpu==${version}, or leave the library option out`,
  },
  {
    pattern:
      /providers_(shared|cuda)\S*: cannot open shared object|providers_(shared|cuda)\S*.*(126|not found)/,
    missing: "the CUDA provider library",
    remedy: ({ version, path }) =>
      `copy libonnxruntime_providers_shared and libonnxruntime_providers_cuda from the PyPI wheel onnxruntime-gpu==${version} (pip download --no-deps onnxruntime-gpu==${version}) into ${dirname(path)}, or reinstall onnxruntime-node without ONNXRUNTIME_NODE_INSTALL=skip where its download server can be reached`,
  },
  { pattern: /libcudnn|cudnn64/i, missing: "cuDNN", remedy: toolkit },
  {
    pattern: /lib(cublas|cudart|cufft|curand|cublasLt|nvrtc)|(cublas|cudart|cufft|curand)64/i,
    missing: "CUDA",
    remedy: toolkit,
  },
  {
    pattern: /libcuda\.so|no CUDA-capable device|driver version is insufficient|CUDA failure (35|100|999)/i,
    missing: "a CUDA driver or device",
    remedy: driver,
  },
];

/** Turns a load failure into an error that names the missing part; returns other errors unchanged. */
export function explainCudaFailure(library: OrtLibrary, cause: unknown): unknown {
  // An error that has been explained contains the provider's text, and would be explained again.
  if (!MpError.is(cause) || cause.code === "MP_BACKEND_UNAVAILABLE") return cause;
  const found = EXPLANATIONS.find(({ pattern }) => pattern.test(cause.message));
  if (found === undefined && !/failed to load/i.test(cause.message)) return cause;
  const missing = found?.missing ?? "a part of the CUDA provider";
  const remedy = found?.remedy(library) ?? toolkit();
  return new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `device cuda: ${missing} is missing; ${remedy} (ONNX Runtime ${library.version}: ${cause.message})`,
    { details: { missing, file: library.path, version: library.version }, cause },
  );
}
