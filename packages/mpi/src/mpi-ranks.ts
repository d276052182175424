import { MpError, type Ranks } from "@mp/graph";
import { ABI } from "./abi-table.js";
import { cells } from "./bindings.js";
import { endProcess, pauseForLauncher, sayLast } from "./end-process.js";
import { checkCode, type MpiLibrary } from "./library.js";
import { waitFor } from "./wait.js";

/** The collectives; their indices identify them in the headers that ranks exchange first. */
const COLLECTIVES = ["allReduce", "allGather", "broadcast", "barrier", "dispose"] as const;
type Collective = (typeof COLLECTIVES)[number];
/** Two 64-bit numbers: the collective, and the number of bytes that this rank brings. */
const HEADER_LENGTH = 2;

/** Collectives that need the same number of bytes from every rank. */
const SAME_LENGTH: ReadonlySet<Collective> = new Set(["allReduce"]);

/** Elements of one MPI call, 16 MiB. With MPICH 5.0.2, pieces below 32 MiB halve the time of a 58 MB sum. */
const PIECE = 4 * 2 ** 20;

export interface MpiRanksOptions {
  readonly library: MpiLibrary;
  readonly rank: number;
  readonly size: number;
  readonly timeoutMs: number;
}

/**
 * The processes of one MPI job. Each collective begins with an exchange of headers, in which a rank waits for the
 * others and sleeps between its tests if that takes long. Once all are there, the data move without a pause. MPI is
 * called on the main thread only, one call at a time.
 */
export class MpiRanks implements Ranks {
  readonly rank: number;
  readonly size: number;
  readonly #library: MpiLibrary;
  readonly #timeoutMs: number;
  /** Settles with the last collective that was called. */
  #queue: Promise<unknown> = Promise.resolve();
  #leaving: Promise<void> | undefined;
  /** The first failure. After it the ranks no longer agree on the next collective, and exchange nothing. */
  #failure: { readonly error: unknown } | undefined;
  #uncaught: { readonly error: unknown } | undefined;
  readonly #request = cells(BigUint64Array);
  readonly #flag = cells(Int32Array);

  constructor({ library, rank, size, timeoutMs }: MpiRanksOptions) {
    this.rank = rank;
    this.size = size;
    this.#library = library;
    this.#timeoutMs = timeoutMs;
    process.once("exit", this.#onExit);
    process.on("uncaughtExceptionMonitor", this.#onUncaught);
  }

  allReduce(values: Float32Array): Promise<void> {
    return this.#enqueue(async () => {
      await this.#meet("allReduce", values.byteLength);
      // A view of the buffer, because V8 may move the memory of a small array whose buffer was never accessed.
      const memory = new Float32Array(values.buffer, values.byteOffset, values.length);
      const { Iallreduce_c } = this.#library.functions;
      const { IN_PLACE, FLOAT, SUM, COMM_WORLD } = ABI;
      for (let start = 0; start < memory.length; start += PIECE) {
        const piece = memory.subarray(start, start + PIECE);
        await this.#run("allReduce", [piece], (request) =>
          Iallreduce_c(IN_PLACE, piece, piece.length, FLOAT, SUM, COMM_WORLD, request),
        );
      }
    });
  }

  allGather(bytes: Uint8Array): Promise<readonly Uint8Array[]> {
    return this.#enqueue(async () => {
      const lengths = await this.#meet("allGather", bytes.byteLength);
      const starts = lengths.map((_, r) => lengths.slice(0, r).reduce((sum, length) => sum + length, 0));
      const all = cells(
        Uint8Array,
        lengths.reduce((sum, length) => sum + length, 0),
      );
      const own = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
      const counts = BigInt64Array.from(lengths, BigInt);
      const offsets = BigInt64Array.from(starts, BigInt);
      void [counts.buffer, offsets.buffer]; // V8 moves a small array unless its buffer was read.
      const { Iallgatherv_c } = this.#library.functions;
      const { BYTE, COMM_WORLD } = ABI;
      await this.#run("allGather", [all, own, counts, offsets], (request) =>
        Iallgatherv_c(own, own.length, BYTE, all, counts, offsets, BYTE, COMM_WORLD, request),
      );
      return lengths.map((length, r) => all.subarray(starts[r], (starts[r] ?? 0) + length));
    });
  }

  broadcast(bytes?: Uint8Array): Promise<Uint8Array> {
    return this.#enqueue(async () => {
      const own = this.rank === 0 ? bytes : undefined;
      if (this.rank === 0 && own === undefined)
        throw new MpError("MP_INVALID_ARGUMENT", "broadcast: rank 0 passes the bytes, got none");
      const [length = 0] = await this.#meet("broadcast", own?.byteLength ?? 0);
      const memory = cells(Uint8Array, length);
      if (own !== undefined) memory.set(own);
      const { Ibcast_c } = this.#library.functions;
      await this.#run("broadcast", [memory], (request) =>
        Ibcast_c(memory, length, ABI.BYTE, 0, ABI.COMM_WORLD, request),
      );
      return memory;
    });
  }

  barrier(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#meet("barrier", 0);
    });
  }

  /** Ends the processes of all ranks, with the error's message on standard error and exit code 1. */
  abort(error: unknown): never {
    sayLast(this.rank, this.size, error);
    return this.#end(1);
  }

  /**
   * Waits for pending collectives and all ranks, then leaves MPI, which no process can rejoin. Idempotent; any other
   * use afterwards throws MP_DISPOSED. Does nothing after a failed collective, as the process's end aborts the job.
   */
  dispose(): Promise<void> {
    if (this.#failure !== undefined) return Promise.resolve();
    this.#leaving ??= this.#leave();
    return this.#leaving;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #leave(): Promise<void> {
    await this.#append(() => this.#meet("dispose", 0));
    process.off("exit", this.#onExit);
    process.off("uncaughtExceptionMonitor", this.#onUncaught);
    checkCode(this.#library, this.#library.functions.Finalize(), "MPI_Finalize");
  }

  #enqueue<T>(collective: () => Promise<T>): Promise<T> {
    // A collective that is called after `dispose` would run after MPI_Finalize.
    if (this.#leaving === undefined || this.#failure !== undefined) return this.#append(collective);
    return Promise.reject(new MpError("MP_DISPOSED", "ranks: used after dispose"));
  }

  #append<T>(collective: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(() => {
      if (this.#failure !== undefined) throw this.#failure.error;
      return collective();
    });
    this.#queue = result.catch((error: unknown) => {
      this.#failure ??= { error };
    });
    return result;
  }

  /**
   * Waits until every rank has called the same collective.
   * @returns the number of bytes that each rank brings
   * @throws MP_RANK_MISMATCH on every rank if they call different collectives, or bring different lengths to a sum
   */
  async #meet(collective: Collective, bytes: number): Promise<readonly number[]> {
    const own = cells(BigInt64Array, HEADER_LENGTH);
    own.set([BigInt(COLLECTIVES.indexOf(collective)), BigInt(bytes)]);
    const all = cells(BigInt64Array, HEADER_LENGTH * this.size);
    const { Iallgather_c } = this.#library.functions;
    const { INT64_T, COMM_WORLD } = ABI;
    const start = (request: BigUint64Array) =>
      Iallgather_c(own, HEADER_LENGTH, INT64_T, all, HEADER_LENGTH, INT64_T, COMM_WORLD, request);
    await this.#run(collective, [own, all], start, true);
    const headers = Array.from({ length: this.size }, (_, r) => ({
      collective: COLLECTIVES[Number(all[HEADER_LENGTH * r])],
      bytes: Number(all[HEADER_LENGTH * r + 1]),
    }));
    requireSame(headers);
    return headers.map((header) => header.bytes);
  }

  /** Starts a request and waits until it is complete. @param inUse memory that the library uses meanwhile */
  async #run(
    what: Collective,
    inUse: readonly object[],
    start: (request: BigUint64Array) => number,
    maySleep = false,
  ): Promise<void> {
    const held = new Set(inUse);
    checkCode(this.#library, start(this.#request), what);
    await waitFor({
      test: () => this.#isDone(what),
      maySleep,
      timeoutMs: this.#timeoutMs,
      onTimeout: () => this.#endLate(what),
    });
    held.clear();
  }

  #isDone(what: Collective): boolean {
    const { Test } = this.#library.functions;
    checkCode(this.#library, Test(this.#request, this.#flag, null), what);
    return this.#flag[0] !== 0;
  }

  /** Ends this process without another MPI call, which would wait too. */
  #endLate(what: Collective): never {
    const message = `mpi: ${what} was not joined by all ranks within ${this.#timeoutMs} ms (timeoutMs); a rank is slower, has ended or does something else: see docs/many-processes.md`;
    sayLast(this.rank, this.size, new MpError("MP_BACKEND_FAILED", message));
    return endProcess(1);
  }

  /** Remembers an uncaught error, since Node prints it only after the `exit` handlers, which end the process here. */
  readonly #onUncaught = (error: unknown): void => {
    this.#uncaught = { error };
  };

  readonly #onExit = (code: number): void => {
    const message = "mpi: the process ended without dispose of its ranks, so the job is aborted";
    const reason = this.#uncaught ?? this.#failure ?? { error: new MpError("MP_BACKEND_FAILED", message) };
    sayLast(this.rank, this.size, reason.error);
    this.#end(code === 0 ? 1 : code);
  };

  /** Ends this process and, through the launcher, the others. */
  #end(code: number): never {
    pauseForLauncher();
    this.#library.functions.Abort(ABI.COMM_WORLD, code);
    return endProcess(code);
  }
}

interface Header {
  readonly collective: Collective | undefined;
  readonly bytes: number;
}

function requireSame([first, ...others]: readonly Header[]): void {
  if (first === undefined) return;
  const differs = ({ collective, bytes }: Header) =>
    collective !== first.collective ||
    (collective !== undefined && SAME_LENGTH.has(collective) && bytes !== first.bytes);
  const found = others.find(differs);
  if (found === undefined) return;
  const rank = others.indexOf(found) + 1;
  const words = ({ collective, bytes }: Header) => `${collective} of ${bytes} bytes`;
  throw new MpError(
    "MP_RANK_MISMATCH",
    `ranks: rank 0 calls ${words(first)}, rank ${rank} ${words(found)}; all ranks call the same collectives in the same order, with as many values`,
    { details: { rank, expected: first, found } },
  );
}
