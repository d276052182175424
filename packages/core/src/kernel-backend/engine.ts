import { bytesPerElement } from "../dtype.js";
import { MpError } from "../errors.js";
import type { ValueType } from "../graph/graph.js";
import type { HostTensor } from "../host-tensor.js";
import { type BackendManifest, unsupportedReason } from "../manifest.js";
import { elementCount } from "../shape.js";
import { expectHostTensor, expectType } from "./check-tensor.js";
import type { KernelTable, KernelTensor } from "./kernel.js";
import { StoragePool } from "./storage-pool.js";

/** Transfers between the author's storage and the host. */
export interface StorageFunctions<T> {
  /** A storage with a copy of the data, which must be read before the first await; bools are 0 and 1. */
  readonly upload: (tensor: HostTensor) => T | Promise<T>;
  /** A copy in host form; never the storage's own memory. */
  readonly download: (data: T, type: ValueType) => HostTensor | Promise<HostTensor>;
  /** Called once, after a storage's last use. If omitted, the garbage collector frees storages. */
  readonly release?: (data: T) => void;
  /** Bytes of a storage; by default elements times those of the manifest's `storage` dtype. */
  readonly bytes?: (data: T, type: ValueType) => number;
}

/** A bool of a user may be any byte; kernels get 0 or 1. */
function withTruths(tensor: HostTensor): HostTensor {
  if (tensor.dtype !== "bool" || tensor.data.every((byte) => byte <= 1)) return tensor;
  return { ...tensor, data: tensor.data.map((byte) => (byte === 0 ? 0 : 1)) };
}

/**
 * Checks the result of the author's `download`, which the user sees.
 * @throws Error if it is not of that type; not an MpError, which `failure` would treat as the user's mistake
 */
function downloaded(tensor: HostTensor, type: ValueType): HostTensor {
  try {
    expectType("what it gave", expectHostTensor("what it gave", tensor), type);
    return tensor;
  } catch (problem) {
    throw new Error(problem instanceof Error ? problem.message : String(problem));
  }
}

/** Typed arrays and ArrayBuffers report it only by these messages. */
const isOutOfMemory = (error: unknown): boolean =>
  error instanceof RangeError && /allocation failed|invalid (typed )?array length/i.test(error.message);

/** Shared by the handles, states and executables of one backend. */
export class Engine<T> {
  readonly name: string;
  readonly manifest: BackendManifest;
  readonly kernels: KernelTable<T>;
  readonly pool: StoragePool<T>;
  readonly #storage: StorageFunctions<T>;

  constructor(
    name: string,
    manifest: BackendManifest,
    kernels: KernelTable<T>,
    storage: StorageFunctions<T>,
  ) {
    this.name = name;
    this.manifest = manifest;
    this.kernels = kernels;
    this.#storage = storage;
    this.pool = new StoragePool((data) => storage.release?.(data));
  }

  /** A storage of the tensor's data, with one use. Runs synchronously up to the author's first promise. */
  async upload(tensor: HostTensor): Promise<T> {
    try {
      const uploaded = this.#storage.upload(withTruths(tensor));
      const data = uploaded instanceof Promise ? await uploaded : uploaded;
      if (data === undefined || data === null) throw new Error(`it gave ${data} in place of a storage`);
      return this.retain(data, tensor).data;
    } catch (error) {
      throw this.failure("upload", error);
    }
  }

  /** Keeps the storage in use until its data is on the host. */
  async download(data: T, type: ValueType): Promise<HostTensor> {
    this.pool.share(data);
    try {
      return downloaded(await this.#storage.download(data, type), type);
    } catch (error) {
      throw this.failure("download", error);
    } finally {
      this.pool.drop(data);
    }
  }

  /** Counts a storage that the author's code made, or another use of one that it returned again. */
  retain(data: T, { dtype, shape }: ValueType): KernelTensor<T> {
    this.pool.retain(data, this.#bytesOf(data, { dtype, shape }));
    return { dtype, shape, data };
  }

  /** Wraps the author's error as an MpError; an MpError passes through. */
  failure(what: string, error: unknown): MpError {
    if (MpError.is(error)) return error;
    const message = error instanceof Error ? error.message : String(error);
    const code = isOutOfMemory(error) ? "MP_OUT_OF_MEMORY" : "MP_BACKEND_FAILED";
    return new MpError(code, `${this.name}: ${what} failed: ${message}`, { cause: error });
  }

  disposed(what: string): MpError<"MP_DISPOSED"> {
    return new MpError("MP_DISPOSED", `${this.name}: ${what} has been disposed`);
  }

  #bytesOf(data: T, type: ValueType): number {
    if (this.#storage.bytes !== undefined) return this.#storage.bytes(data, type);
    const support = this.manifest.dtypes[type.dtype];
    const dtype =
      unsupportedReason(support) === undefined && "storage" in support ? support.storage : type.dtype;
    return elementCount(type.shape, "tensor") * bytesPerElement[dtype];
  }
}
