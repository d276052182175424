import { type HostTensor, MpError, type ValueType } from "@mp/graph";
import { Ledger, type LiveStats } from "@mp/graph/internal";
import { allocateAdjacent } from "@mp/onnx-lowering/program";
import { NativeBinding } from "./binding.js";
import { type CudaOptions, cudaDevice } from "./cuda.js";
import type { Device, DeviceName, DevicePlace } from "./device.js";
import { acquireEnvironment, type Environment, type EnvironmentOptions } from "./environment.js";
import { loadLibrary, type OrtLibrary } from "./library.js";
import type { LocateOptions } from "./locate.js";
import { createSession, type NativeSession, type SessionOptions, type SessionParts } from "./session.js";
import { NativeTensor, type TensorPlace } from "./tensor.js";
import { NO_TURNS, type Turns } from "./turns.js";
import { type WebgpuOptions, webgpuDevice } from "./webgpu.js";

export interface RuntimeOptions extends LocateOptions, EnvironmentOptions {
  /** Default "cpu". */
  readonly device?: DeviceName;
  readonly cuda?: CudaOptions;
  readonly webgpu?: WebgpuOptions;
}

/** Makes each device; undefined for the processor, where sessions use the library's own memory. */
const DEVICES: Readonly<Record<DeviceName, (options: RuntimeOptions) => Device | undefined>> = {
  cpu: () => undefined,
  cuda: ({ cuda }) => cudaDevice(cuda),
  webgpu: ({ webgpu }) => webgpuDevice(webgpu),
};

export type Place = "host" | "device";

/**
 * A backend's use of ONNX Runtime on one device. Creates and counts sessions, bindings and tensors, and frees at the
 * end whatever was not released.
 */
export class NativeRuntime {
  readonly library: OrtLibrary;
  readonly device: DeviceName;
  /** Serializes everything that touches the device's memory or runs on it. */
  readonly turns: Turns;
  /** Whether the device records and replays steps. */
  readonly captures: boolean;
  readonly #environment: Environment;
  readonly #parts: SessionParts;
  readonly #host: TensorPlace;
  readonly #ledger = new Ledger();
  readonly #loading = new Set<Promise<unknown>>();
  readonly #device: Device | undefined;
  #place: DevicePlace | undefined;
  #isDisposed = false;

  /** Use `openRuntime`, which also initializes the device. */
  constructor(options: RuntimeOptions = {}) {
    this.library = loadLibrary(options);
    this.device = options.device ?? "cpu";
    this.#device = DEVICES[this.device](options);
    this.turns = this.#device?.turns ?? NO_TURNS;
    this.captures = this.#device?.captures ?? false;
    this.#environment = acquireEnvironment(this.library, options);
    const { functions, make } = this.library;
    this.#host = {
      allocator: make("allocator", (out) => functions.GetAllocatorWithDefaultOptions(out)),
    };
    this.#parts = {
      library: this.library,
      environment: this.#environment,
      ledger: this.#ledger,
      append: this.#device?.append,
    };
  }

  /** Creates the device's allocator and copier. @throws MP_BACKEND_UNAVAILABLE naming what the device lacks */
  async readyDevice(): Promise<void> {
    const device = this.#device;
    if (device === undefined || this.#place !== undefined) return;
    try {
      this.#place = await device.turns.take(() => device.open(this.#parts, this.#host.allocator));
    } catch (cause) {
      throw device.explain(this.library, cause);
    }
  }

  /**
   * Loads a model for this runtime's device.
   * @throws MP_INVALID_ARGUMENT for bytes that are not a valid model
   * @throws MP_UNSUPPORTED if an operator has no kernel for the given types
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

  /** Allocates a tensor with undefined contents, by default on this runtime's device. */
  allocate(type: ValueType, place: Place = "device"): NativeTensor {
    this.#assertUsable();
    const where = place === "device" ? (this.#place ?? this.#host) : this.#host;
    return new NativeTensor(this.library, this.#ledger, type, where);
  }

  /** Whether the host can access the memory that this runtime computes in. */
  get isOnHost(): boolean {
    return this.#place === undefined;
  }

  /** Allocates host tensors in one zeroed piece of memory, each aligned. The whole is released last. */
  allocateAdjacent(types: readonly ValueType[]): ReturnType<typeof allocateAdjacent<NativeTensor>> {
    this.#assertUsable();
    return allocateAdjacent(types, (type, within) => {
      const place = within === undefined ? this.#host : { ...this.#host, within };
      return new NativeTensor(this.library, this.#ledger, type, place);
    });
  }

  upload(value: HostTensor, place?: Place): NativeTensor {
    const tensor = this.allocate(value, place);
    tensor.write(value);
    return tensor;
  }

  /**
   * Checks that the device has done everything it was given, for devices that do not report failures themselves.
   * @throws MP_OUT_OF_MEMORY if it has not; what was written since the last check may be lost
   */
  async expectSound(): Promise<void> {
    if ((await this.#place?.copier?.isSound?.()) ?? true) return;
    throw new MpError(
      "MP_OUT_OF_MEMORY",
      `device ${this.device}: it did not carry out its last copies; a tensor did not fit in its memory, or is larger than its buffers may be: use a smaller batch or model, or go on from the last checkpoint in a new process`,
    );
  }

  stats(): LiveStats {
    return this.#ledger.stats();
  }

  /** Waits for runs in flight, then frees everything. Idempotent; any other use afterwards throws MP_DISPOSED. */
  async dispose(): Promise<void> {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    await Promise.allSettled(this.#loading);
    await this.#ledger.whenIdle();
    this.#ledger.releaseAll();
    this.#place?.release();
    this.#environment.release();
  }

  #assertUsable(): void {
    if (this.#isDisposed) throw new MpError("MP_DISPOSED", "ONNX Runtime: used after dispose");
  }
}

/**
 * Loads the library, joins the process's environment and initializes the device.
 * @throws MP_BACKEND_UNAVAILABLE, MP_SPEC_VERSION if there is no suitable library or device
 * @throws MP_INVALID_ARGUMENT if `threads` or `spinning` differ from those that the process already uses
 */
export async function openRuntime(options: RuntimeOptions = {}): Promise<NativeRuntime> {
  const runtime = new NativeRuntime(options);
  try {
    await runtime.readyDevice();
    return runtime;
  } catch (error) {
    await runtime.dispose();
    throw error;
  }
}
