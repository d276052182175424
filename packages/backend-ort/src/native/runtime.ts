import { type HostTensor, MpError } from "@mp/core";
import type { ValueType } from "@mp/core/graph";
import { ARENA_ALLOCATOR, DEFAULT_MEMORY } from "./allocator.js";
import { NativeBinding } from "./binding.js";
import { COPY_MODEL } from "./copy-model.js";
import { appendCuda, type CudaOptions, explainCudaFailure } from "./cuda.js";
import { IdentityCopier } from "./device-copy.js";
import { acquireEnvironment, type Environment, type EnvironmentOptions } from "./environment.js";
import { loadLibrary, type OrtLibrary } from "./library.js";
import type { LocateOptions } from "./locate.js";
import { Ledger, type LiveStats } from "./resource.js";
import { createSession, type NativeSession, type SessionOptions, type SessionParts } from "./session.js";
import { NativeTensor, type TensorPlace } from "./tensor.js";

export interface RuntimeOptions extends LocateOptions, EnvironmentOptions {
  /** Default "cpu". */
  readonly device?: "cpu" | "cuda";
  readonly cuda?: CudaOptions;
}

export type Place = "host" | "device";

/**
 * One user of ONNX Runtime: creates sessions, bindings and tensors on one device, counts them, and at the end frees
 * whatever of its own is left.
 */
export class NativeRuntime {
  readonly library: OrtLibrary;
  readonly device: "cpu" | "cuda";
  readonly #environment: Environment;
  readonly #parts: SessionParts;
  readonly #host: TensorPlace;
  readonly #ledger = new Ledger();
  readonly #loading = new Set<Promise<unknown>>();
  #device: DevicePlace | undefined;
  #isDisposed = false;

  /** See `openRuntime`, which also initializes the device. */
  constructor(options: RuntimeOptions = {}) {
    this.library = loadLibrary(options);
    this.device = options.device ?? "cpu";
    this.#environment = acquireEnvironment(this.library, options);
    const { functions, make } = this.library;
    this.#host = {
      allocator: make("allocator", (out) => functions.GetAllocatorWithDefaultOptions(out)),
    };
    this.#parts = {
      library: this.library,
      environment: this.#environment,
      ledger: this.#ledger,
      append:
        this.device === "cuda"
          ? (library, sessionOptions) => appendCuda(library, sessionOptions, options.cuda)
          : undefined,
    };
  }

  /**
   * Creates the device's allocator and copier. @throws MP_BACKEND_UNAVAILABLE naming the part of CUDA that is missing
   */
  async readyDevice(options: CudaOptions = {}): Promise<void> {
    if (this.device === "cpu" || this.#device !== undefined) return;
    try {
      this.#device = await openCudaPlace(this.#parts, this.#host.allocator, options);
    } catch (cause) {
      throw explainCudaFailure(this.library, cause);
    }
  }

  /**
   * Loads a model for this runtime's device.
   * @throws MP_INVALID_ARGUMENT for bytes that are not a valid model, or too many bytes
   * @throws MP_UNSUPPORTED when an operator has no kernel for the given types
   */
  async createSession(model: Uint8Array, options?: SessionOptions): Promise<NativeSession> {
    this.#assertUsable();
    const loading = createSession(this.#parts, model, options);
    this.#loading.add(loading);
    try {
      return await loading;
    } finally {
      this.#loading.delete(loading);
    }
  }

  bind(session: NativeSession): NativeBinding {
    this.#assertUsable();
    return new NativeBinding(session);
  }

  /** A tensor with undefined contents, by default on the device that this runtime computes on. */
  allocate(type: ValueType, place: Place = "device"): NativeTensor {
    this.#assertUsable();
    const where = place === "device" ? (this.#device ?? this.#host) : this.#host;
    return new NativeTensor(this.library, this.#ledger, type, where);
  }

  upload(value: HostTensor, place?: Place): NativeTensor {
    const tensor = this.allocate(value, place);
    tensor.write(value);
    return tensor;
  }

  stats(): LiveStats {
    return this.#ledger.stats();
  }

  /** Waits for runs in flight, then frees everything. Idempotent; any other use afterwards is MP_DISPOSED. */
  async dispose(): Promise<void> {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    await Promise.allSettled(this.#loading);
    await this.#ledger.whenIdle();
    this.#ledger.releaseAll();
    this.#device?.release();
    this.#environment.release();
  }

  #assertUsable(): void {
    if (this.#isDisposed) throw new MpError("MP_DISPOSED", "ONNX Runtime: used after dispose");
  }
}

/**
 * Loads the library, joins the process's environment and initializes the device.
 * @throws MP_BACKEND_UNAVAILABLE, MP_SPEC_VERSION when there is no suitable library or device
 * @throws MP_INVALID_ARGUMENT when the thread options disagree with a runtime that is in use
 */
export async function openRuntime(options: RuntimeOptions = {}): Promise<NativeRuntime> {
  const runtime = new NativeRuntime(options);
  try {
    await runtime.readyDevice(options.cuda);
    return runtime;
  } catch (error) {
    await runtime.dispose();
    throw error;
  }
}

interface DevicePlace extends TensorPlace {
  release(): void;
}

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
