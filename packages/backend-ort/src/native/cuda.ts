/**
 * The CUDA execution provider: its options, what is missing when it does not load, and its device memory. All CUDA code
 * is in libraries next to ONNX Runtime's own and is found through that library's folder.
 */
import { dirname } from "node:path";
import { MpError } from "@mp/graph";
import { Ledger } from "@mp/onnx-lowering/program";
import { ARENA_ALLOCATOR, DEFAULT_MEMORY } from "./allocator.js";
import { COPY_MODEL } from "./copy-model.js";
import type { Device, DevicePlace } from "./device.js";
import { IdentityCopier } from "./device-copy.js";
import type { OrtLibrary } from "./library.js";
import { createSession, type DeviceUse, type SessionParts } from "./session.js";
import { NO_TURNS } from "./turns.js";

export interface CudaOptions {
  /** Which GPU, as CUDA numbers them. Default 0. */
  readonly deviceId?: number;
  /**
   * Whether matrix products and convolutions of float32 may round their factors to TF32, 10 bits of fraction instead of
   * 23. Default false: float32 is float32.
   */
  readonly tf32?: boolean;
  /** Most bytes that each session's arena takes; state and batches are not in it. Default: no limit. */
  readonly memoryLimit?: number;
  /** Record a step that is wholly on the GPU as a CUDA graph, and replay it. Default false: not run on a GPU yet. */
  readonly graphCapture?: boolean;
  /** Further options of the provider, by its own names; they replace those set here. */
  readonly provider?: Readonly<Record<string, string>>;
}

export const cudaDevice = (options: CudaOptions = {}): Device => ({
  turns: NO_TURNS,
  captures: options.graphCapture ?? false,
  append: (library, sessionOptions, use) => appendCuda(library, sessionOptions, options, use),
  open: (parts, hostAllocator) => openCudaPlace(parts, hostAllocator, options),
  explain: explainCudaFailure,
});

/** The session that copies also provides its allocator. It is not in the ledger, since no user may release it. */
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
 * The provider's own options. A search of convolution algorithms by trial would take minutes and could differ from run
 * to run; memory grows by what is requested, because growing by powers of two keeps up to twice the need.
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
 * Adds CUDA to session options.
 * @throws MP_BACKEND_UNAVAILABLE naming the missing piece: provider library, CUDA, cuDNN or driver
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

/** In the order in which loading proceeds; the first that matches is the missing piece. */
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

/**
 * One clear error for any text that the provider failed with; errors that are not about loading are returned unchanged.
 */
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
