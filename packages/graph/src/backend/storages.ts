import { type BackendManifest, unsupportedReason } from "../contract/manifest.js";
import { bytesPerElement } from "../dtype.js";
import { MpError } from "../errors.js";
import type { ValueType } from "../graph/graph.js";
import type { HostTensor } from "../host/host-tensor.js";
import { elementCount } from "../shape.js";
import { shown } from "../shown.js";
import { callAll } from "./call-all.js";
import { expectHostTensor, expectType } from "./check-tensor.js";
import type { Awaitable, StorageFunctions } from "./hooks.js";
import { isPromiseLike } from "./is-promise-like.js";
import { StoragePool } from "./storage-pool.js";

/** A storage with its type. */
export interface Stored<T> extends ValueType {
  readonly data: T;
}

/** Changes the bytes of a bool tensor to 0 and 1; users may pass any byte for true. */
export function withTruths(tensor: HostTensor): HostTensor {
  if (tensor.dtype !== "bool" || tensor.data.every((byte) => byte <= 1)) return tensor;
  return { ...tensor, data: tensor.data.map((byte) => (byte === 0 ? 0 : 1)) };
}

/**
 * Checks a tensor that the author's code returns to the user: a result of `download`, a value of a state.
 * @throws Error if it is not of that type; not an MpError, which `failure` would treat as the user's mistake
 */
export function checkDownload(tensor: HostTensor, type: ValueType): HostTensor {
  try {
    expectType("what it gave", expectHostTensor("what it gave", tensor), type);
    return tensor;
  } catch (problem) {
    throw new Error(problem instanceof Error ? problem.message : String(problem));
  }
}

/** Typed arrays and ArrayBuffers report a lack of memory only by these messages. */
const isOutOfMemory = (error: unknown): boolean =>
  error instanceof RangeError && /allocation failed|invalid (typed )?array length/i.test(error.message);

/** The storages of one backend: the author's functions, with their results checked and their uses counted. */
export class Storages<T> {
  readonly name: string;
  readonly pool: StoragePool<T>;
  readonly #manifest: BackendManifest;
  readonly #functions: StorageFunctions<T>;

  constructor(name: string, manifest: BackendManifest, functions: StorageFunctions<T>) {
    this.name = name;
    this.#manifest = manifest;
    this.#functions = functions;
    this.pool = new StoragePool((data) => this.attempt("release", () => functions.release?.(data)));
  }

  /** Stores the tensor's data, with one use. Runs synchronously up to the author's first promise. */
  async upload(tensor: HostTensor): Promise<T> {
    try {
      const uploaded = this.#functions.upload(withTruths(tensor));
      const data = isPromiseLike(uploaded) ? await uploaded : uploaded;
      if (data === undefined || data === null) throw new Error(`it gave ${data} in place of a storage`);
      return this.retain(data, tensor).data;
    } catch (error) {
      throw this.failure("upload", error);
    }
  }

  /** Uploads all of the tensors, or none; each has one use. */
  async uploadAll(
    tensors: Iterable<readonly [name: string, tensor: HostTensor]>,
  ): Promise<Map<string, Stored<T>>> {
    const uploads = Array.from(tensors, async ([name, tensor]) => {
      const { dtype, shape } = tensor;
      return [name, { dtype, shape: [...shape], data: await this.upload(tensor) }] as const;
    });
    const settled = await Promise.allSettled(uploads);
    const failed = settled.find((result) => result.status === "rejected");
    const done = settled.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    if (failed === undefined) return new Map(done);
    this.dropAll(done.map(([, { data }]) => data));
    throw failed.reason;
  }

  /** Copies a storage to the host, and keeps the storage in use until the copy is made. */
  async download({ data, dtype, shape }: Stored<T>): Promise<HostTensor> {
    this.pool.share(data);
    try {
      return await this.copy(data, { dtype, shape });
    } finally {
      this.pool.drop(data);
    }
  }

  /** Copies a storage to the host; the caller keeps it in use meanwhile. Returns a promise only if `download` does. */
  copy(data: T, type: ValueType): Awaitable<HostTensor> {
    const fail = (error: unknown): never => {
      throw this.failure("download", error);
    };
    try {
      const got = this.#functions.download(data, type);
      if (isPromiseLike(got))
        return Promise.resolve(got)
          .then((tensor) => checkDownload(tensor, type))
          .catch(fail);
      return checkDownload(got, type);
    } catch (error) {
      return fail(error);
    }
  }

  /** Adds one use to a storage that the author's code returned, new or already in use. */
  retain(data: T, { dtype, shape }: ValueType): Stored<T> {
    this.pool.retain(data, this.#sizeOf(data, { dtype, shape }));
    return { dtype, shape, data };
  }

  /** Ends one use of each storage. */
  dropAll(uses: Iterable<T>): void {
    callAll(Array.from(uses, (data) => () => this.pool.drop(data)));
  }

  /** Calls a hook and wraps the error that it throws or rejects with. */
  attempt<R>(what: string, hook: () => R): R {
    const wrap = (error: unknown): never => {
      throw this.failure(what, error);
    };
    try {
      const result = hook();
      return isPromiseLike(result) ? (Promise.resolve(result).catch(wrap) as R) : result;
    } catch (error) {
      return wrap(error);
    }
  }

  /**
   * The number of bytes that a hook returns.
   * @throws MP_BACKEND_FAILED with the hook's name, also if the result is not a count
   */
  countBytes(what: string, count: () => unknown): number {
    return this.attempt(what, () => {
      const bytes = count();
      if (typeof bytes === "number" && Number.isFinite(bytes) && bytes >= 0) return bytes;
      throw new Error(`it gave ${shown(bytes)} in place of a number of bytes`);
    });
  }

  /** Wraps the author's error as an MpError; an MpError passes through. */
  failure(what: string, error: unknown): MpError {
    if (MpError.is(error)) return error;
    const message = error instanceof Error ? error.message : typeof error === "string" ? error : shown(error);
    const code = isOutOfMemory(error) ? "MP_OUT_OF_MEMORY" : "MP_BACKEND_FAILED";
    return new MpError(code, `${this.name}: ${what} failed: ${message}`, { cause: error });
  }

  disposedError(what: string): MpError<"MP_DISPOSED"> {
    return new MpError("MP_DISPOSED", `${this.name}: ${what} has been disposed`);
  }

  #sizeOf(data: T, type: ValueType): number {
    const functions = this.#functions;
    if (functions.bytes !== undefined) return this.countBytes("bytes", () => functions.bytes?.(data, type));
    const support = this.#manifest.dtypes[type.dtype];
    const dtype =
      unsupportedReason(support) === undefined && "storage" in support ? support.storage : type.dtype;
    return elementCount(type.shape, "tensor") * bytesPerElement[dtype];
  }
}
