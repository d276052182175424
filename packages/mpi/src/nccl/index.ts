import { MpError, type Ranks } from "@mp/core";
import { type NcclLibraries, openLibraries, VALUES } from "./libraries.js";
import { NcclRanks, streamOn } from "./nccl-ranks.js";

export type { NcclRanks } from "./nccl-ranks.js";

export interface NcclOptions {
  /** Number of the GPU, each of another rank; default the rank's place on its host, as the launcher names it. */
  readonly device?: number;
  /** NCCL's library. Default MP_NCCL_LIBRARY, or the `libnccl.so.2` that the system's loader finds. */
  readonly library?: string;
  /** CUDA's runtime. Default MP_CUDART_LIBRARY, or the `libcudart.so.12` that the system's loader finds. */
  readonly cudart?: string;
  /** How long a sum may take, in milliseconds; then it fails. Default 600 000. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 600_000;

/** A rank's place on its host, by launcher: MPICH, Open MPI, SLURM. */
const PLACES = ["MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"] as const;

/**
 * Ranks whose sums are made by NCCL, between GPUs of one or many hosts. All ranks call it, each with a GPU of its own; the
 * ranks given start it and move everything but sums, and stay the caller's to dispose of. **It has not been run on a GPU
 * yet.**
 * @throws MP_BACKEND_UNAVAILABLE on all ranks where one has no library or no such GPU
 * @throws MP_BACKEND_FAILED where NCCL does not start
 * @throws MP_INVALID_ARGUMENT for an invalid option
 * @example
 * await using ranks = await mpi();
 * await using sums = await nccl(ranks);
 * const training = await trainer({ …, ranks: sums });
 */
export async function nccl(ranks: Ranks, options: NcclOptions = {}): Promise<NcclRanks> {
  const { timeoutMs = TIMEOUT_MS } = options;
  if (!(timeoutMs > 0))
    throw new MpError("MP_INVALID_ARGUMENT", `timeoutMs: milliseconds above 0 are needed, got ${timeoutMs}`);
  const { libraries, device } = await together(ranks, () => readied(ranks, options));
  const streams: bigint[] = [];
  try {
    const stream = await together(ranks, () => {
      const made = streamOn(libraries, device);
      streams.push(made);
      return made;
    });
    const id = await identifier(ranks, libraries);
    streams.pop();
    return new NcclRanks({ ranks, libraries, device, stream, timeoutMs }, id);
  } finally {
    // Of a start that failed.
    for (const stream of streams) libraries.cuda.StreamDestroy(stream);
  }
}

/** Sends the identifier that rank 0's NCCL made to all ranks. */
async function identifier(ranks: Ranks, { nccl }: NcclLibraries): Promise<Uint8Array> {
  const id = new Uint8Array(new ArrayBuffer(VALUES.UNIQUE_ID_BYTES));
  await together(ranks, () => {
    const code = ranks.rank === 0 ? nccl.GetUniqueId(id) : 0;
    if (code === 0) return;
    const text = nccl.GetErrorString(code);
    throw new MpError("MP_BACKEND_FAILED", `NCCL: ncclGetUniqueId failed with code ${code}: ${text}`);
  });
  return ranks.broadcast(ranks.rank === 0 ? id : undefined);
}

interface Readied {
  readonly libraries: NcclLibraries;
  readonly device: number;
}

function readied(ranks: Ranks, options: NcclOptions): Readied {
  const libraries = openLibraries({
    library: options.library ?? process.env["MP_NCCL_LIBRARY"] ?? "libnccl.so.2",
    cudart: options.cudart ?? process.env["MP_CUDART_LIBRARY"] ?? "libcudart.so.12",
  });
  const count = new Int32Array(new ArrayBuffer(4));
  const code = libraries.cuda.GetDeviceCount(count);
  const devices = code === 0 ? (count[0] ?? 0) : 0;
  const place = PLACES.map((name) => process.env[name]).find((value) => value !== undefined);
  const device = options.device ?? Number(place ?? ranks.rank);
  if (Number.isInteger(device) && device >= 0 && device < devices) return { libraries, device };
  throw new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `NCCL: rank ${ranks.rank} needs GPU ${device} for itself, and its host has ${devices}; start no more ranks on a host than it has GPUs`,
    { details: { rank: ranks.rank, device, devices } },
  );
}

/** Runs it on every rank; where it fails on one, all throw, and none waits for another. */
async function together<T>(ranks: Ranks, run: () => T): Promise<T> {
  let outcome: { readonly value: T } | { readonly error: unknown };
  try {
    outcome = { value: run() };
  } catch (error) {
    outcome = { error };
  }
  const said = "error" in outcome ? textOf(outcome.error) : "";
  const all = await ranks.allGather(new TextEncoder().encode(said));
  if ("error" in outcome) throw outcome.error;
  const rank = all.findIndex(({ length }) => length > 0);
  if (rank < 0) return outcome.value;
  throw new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `NCCL: rank ${rank} cannot take part: ${new TextDecoder().decode(all[rank])}`,
    { details: { rank } },
  );
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
