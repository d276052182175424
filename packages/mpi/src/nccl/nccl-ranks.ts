import { MpError, type Ranks } from "@mp/graph";
import { cells } from "../bindings.js";
import { waitFor } from "../wait.js";
import { type NcclLibraries, VALUES } from "./libraries.js";

export interface NcclRanksParts {
  /** The ranks that start NCCL and transfer everything except sums. */
  readonly ranks: Ranks;
  readonly libraries: NcclLibraries;
  readonly device: number;
  /** A CUDA stream on that device. */
  readonly stream: bigint;
  readonly timeoutMs: number;
}

/** Opens a stream of our own on a GPU. @throws MP_BACKEND_FAILED */
export function openStream({ cuda }: NcclLibraries, device: number): bigint {
  const stream = cells(BigUint64Array);
  checkCuda(cuda, device, cuda.SetDevice(device), "cudaSetDevice");
  checkCuda(cuda, device, cuda.StreamCreateWithFlags(stream, VALUES.STREAM_NON_BLOCKING), "cudaStreamCreate");
  return stream[0] ?? 0n;
}

/**
 * Ranks that sum on GPUs, one GPU per rank: an array is copied to the GPU, summed there and copied back. Everything
 * else goes through the ranks that started NCCL.
 */
export class NcclRanks implements Ranks {
  readonly rank: number;
  readonly size: number;
  /** Index of this rank's GPU. */
  readonly device: number;
  readonly #ranks: Ranks;
  readonly #libraries: NcclLibraries;
  readonly #timeoutMs: number;
  readonly #communicator: bigint;
  readonly #stream: bigint;
  /** Memory on the GPU; grows to the size of the longest array. */
  #buffer = { address: 0n, bytes: 0 };
  /** The last sum in the order of calls. */
  #queue: Promise<unknown> = Promise.resolve();
  #isDisposed = false;
  #failure: { readonly error: unknown } | undefined;
  /** Whether NCCL's communicator has been aborted. */
  #isAborted = false;

  /** Joins NCCL, which waits for all ranks; owns the stream from now on. @param id the identifier from rank 0 */
  constructor({ ranks, libraries, device, stream, timeoutMs }: NcclRanksParts, id: Uint8Array) {
    this.rank = ranks.rank;
    this.size = ranks.size;
    this.device = device;
    this.#ranks = ranks;
    this.#libraries = libraries;
    this.#timeoutMs = timeoutMs;
    this.#stream = stream;
    const { nccl, cuda } = libraries;
    const communicator = cells(BigUint64Array);
    const code = nccl.CommInitRank(communicator, this.size, { internal: Array.from(id) }, this.rank);
    if (code !== 0) cuda.StreamDestroy(stream);
    this.#nccl(code, "ncclCommInitRank");
    this.#communicator = communicator[0] ?? 0n;
  }

  allReduce(values: Float32Array): Promise<void> {
    if (this.#isDisposed) return Promise.reject(new MpError("MP_DISPOSED", "ranks: used after dispose"));
    const result = this.#queue.then(() => {
      if (this.#failure !== undefined) throw this.#failure.error;
      return this.#sum(values);
    });
    this.#queue = result.catch((error: unknown) => {
      this.#failure ??= { error };
    });
    return result;
  }

  allGather(bytes: Uint8Array): Promise<readonly Uint8Array[]> {
    return this.#ranks.allGather(bytes);
  }

  broadcast(bytes?: Uint8Array): Promise<Uint8Array> {
    return this.#ranks.broadcast(bytes);
  }

  barrier(): Promise<void> {
    return this.#ranks.barrier();
  }

  abort(error: unknown): never {
    return this.#ranks.abort(error);
  }

  /** Frees the memory on the GPU; the ranks that started NCCL stay. Idempotent. */
  async dispose(): Promise<void> {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    await this.#queue;
    const { nccl, cuda } = this.#libraries;
    cuda.SetDevice(this.device);
    const code = this.#isAborted ? 0 : nccl.CommDestroy(this.#communicator);
    const codes = [
      this.#buffer.bytes > 0 ? cuda.Free(this.#buffer.address) : 0,
      cuda.StreamDestroy(this.#stream),
    ];
    this.#nccl(code, "ncclCommDestroy");
    for (const each of codes) this.#cuda(each, "freeing its memory");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #sum(values: Float32Array): Promise<void> {
    await this.#meet(values.length);
    if (values.length === 0) return;
    const { nccl, cuda } = this.#libraries;
    const { byteLength: bytes } = values;
    // A view of the buffer, because V8 may move the memory of a small array whose buffer was never accessed.
    const memory = new Float32Array(values.buffer, values.byteOffset, values.length);
    try {
      this.#cuda(cuda.SetDevice(this.device), "cudaSetDevice");
      const address = this.#room(bytes);
      const stream = this.#stream;
      this.#cuda(cuda.MemcpyAsync(address, memory, bytes, VALUES.HOST_TO_DEVICE, stream), "copy to the GPU");
      const { FLOAT32, SUM } = VALUES;
      this.#nccl(
        nccl.AllReduce(address, address, values.length, FLOAT32, SUM, this.#communicator, stream),
        "ncclAllReduce",
      );
      await this.#idle();
      // A copy into unpinned memory is done when the call returns.
      this.#cuda(cuda.MemcpyAsync(memory, address, bytes, VALUES.DEVICE_TO_HOST, stream), "copy to the host");
      await this.#idle();
    } catch (error) {
      // Ends the wait of the other ranks, too.
      this.#isAborted = true;
      nccl.CommAbort(this.#communicator);
      throw error;
    }
  }

  /** @throws MP_RANK_MISMATCH on every rank if the ranks' lengths differ */
  async #meet(length: number): Promise<void> {
    const own = cells(BigUint64Array);
    own[0] = BigInt(length);
    const all = await this.#ranks.allGather(new Uint8Array(own.buffer));
    const lengths = all.map((bytes) => Number(new BigUint64Array(bytes.slice().buffer)[0]));
    const rank = lengths.findIndex((each) => each !== lengths[0]);
    if (rank < 0) return;
    throw new MpError(
      "MP_RANK_MISMATCH",
      `ranks: rank 0 calls allReduce of ${lengths[0]} values, rank ${rank} of ${lengths[rank]}; all ranks bring as many`,
      { details: { rank } },
    );
  }

  #room(bytes: number): bigint {
    if (this.#buffer.bytes < bytes) {
      const { cuda } = this.#libraries;
      if (this.#buffer.bytes > 0) this.#cuda(cuda.Free(this.#buffer.address), "cudaFree");
      this.#buffer = { address: 0n, bytes: 0 };
      const address = cells(BigUint64Array);
      this.#cuda(cuda.Malloc(address, bytes), "CUDA");
      this.#buffer = { address: address[0] ?? 0n, bytes };
    }
    return this.#buffer.address;
  }

  /** Resolves when the stream has no work left, without blocking the event loop. */
  async #idle(): Promise<void> {
    const { nccl, cuda } = this.#libraries;
    const fault = cells(Int32Array);
    await waitFor({
      test: () => {
        const code = cuda.StreamQuery(this.#stream);
        if (code === VALUES.NOT_READY) {
          nccl.CommGetAsyncError(this.#communicator, fault);
          this.#nccl(fault[0] ?? 0, "ncclAllReduce");
          return false;
        }
        this.#cuda(code, "the GPU's work");
        return true;
      },
      maySleep: false,
      timeoutMs: this.#timeoutMs,
      onTimeout: () => {
        throw new MpError(
          "MP_BACKEND_FAILED",
          `NCCL: a sum was not done within ${this.#timeoutMs} ms (timeoutMs); a rank has ended or its GPU does not answer`,
        );
      },
    });
  }

  #cuda(code: number, what: string): void {
    checkCuda(this.#libraries.cuda, this.device, code, what);
  }

  #nccl(code: number, what: string): void {
    if (code === 0) return;
    const text = this.#libraries.nccl.GetErrorString(code);
    throw new MpError("MP_BACKEND_FAILED", `NCCL: ${what} failed with code ${code}: ${text}`, {
      details: { code, device: this.device },
    });
  }
}

function checkCuda(cuda: NcclLibraries["cuda"], device: number, code: number, what: string): void {
  if (code === 0) return;
  const text = cuda.GetErrorString(code);
  // cudaErrorMemoryAllocation.
  const kind = code === 2 ? "MP_OUT_OF_MEMORY" : "MP_BACKEND_FAILED";
  throw new MpError(kind, `NCCL: ${what} on GPU ${device} failed with code ${code}: ${text}`, {
    details: { code, device },
  });
}
