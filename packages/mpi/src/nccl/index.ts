import { MpError, type Ranks } from "@mp/graph";
import { cells } from "../bindings.js";
import { type NcclLibraries, openLibraries, VALUES } from "./libraries.js";
import { NcclRanks, openStream } from "./nccl-ranks.js";

export type { NcclRanks } from "./nccl-ranks.js";

export interface NcclOptions {
  /** Index of the GPU, different for each rank on a host; default the launcher's rank on the host, else the rank. */
  readonly device?: number;
  /** Path of NCCL. Default MP_NCCL_LIBRARY, or the `libnccl.so.2` that the system's loader finds. */
  readonly library?: string;
  /** Path of CUDA's runtime. Default MP_CUDART_LIBRARY, or the `libcudart.so.12` that the system's loader finds. */
  readonly cudart?: string;
  /** Time limit of a sum in milliseconds, after which it fails. Default 600 000. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 600_000;

/** Variables with a rank's index on its host, set by MPICH, Open MPI and SLURM. */
const LOCAL_RANKS = ["MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"] as const;

/**
 * Makes ranks whose sums NCCL computes, between GPUs of one or many hosts. All ranks call `nccl`, each with a GPU of
 * its own. The given ranks start NCCL and transfer everything except sums; the caller still disposes of the given
 * ranks. **It has not been run on a GPU yet.**
 * @throws MP_BACKEND_UNAVAILABLE on all ranks if one of them has no library or no such GPU
 * @throws MP_BACKEND_FAILED if NCCL does not start
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
  const { libraries, device } = await together(ranks, () => openDevice(ranks, options));
  let stream = 0n;
  let id: Uint8Array;
  try {
    await together(ranks, () => {
      stream = openStream(libraries, device);
    });
    id = await identifier(ranks, libraries);
  } catch (error) {
    if (stream !== 0n) libraries.cuda.StreamDestroy(stream);
    throw error;
  }
  return new NcclRanks({ ranks, libraries, device, stream, timeoutMs }, id);
}

/** Sends the identifier that rank 0's NCCL made to all ranks. */
async function identifier(ranks: Ranks, { nccl }: NcclLibraries): Promise<Uint8Array> {
  const id = cells(Uint8Array, VALUES.UNIQUE_ID_BYTES);
  await together(ranks, () => {
    const code = ranks.rank === 0 ? nccl.GetUniqueId(id) : 0;
    if (code === 0) return;
    const text = nccl.GetErrorString(code);
    throw new MpError("MP_BACKEND_FAILED", `NCCL: ncclGetUniqueId failed with code ${code}: ${text}`);
  });
  return ranks.broadcast(ranks.rank === 0 ? id : undefined);
}

function openDevice(
  ranks: Ranks,
  options: NcclOptions,
): { readonly libraries: NcclLibraries; readonly device: number } {
  const libraries = openLibraries({
    library: options.library ?? process.env["MP_NCCL_LIBRARY"] ?? "libnccl.so.2",
    cudart: options.cudart ?? process.env["MP_CUDART_LIBRARY"] ?? "libcudart.so.12",
  });
  const count = cells(Int32Array);
  const code = libraries.cuda.GetDeviceCount(count);
  const devices = code === 0 ? (count[0] ?? 0) : 0;
  const localRank = LOCAL_RANKS.map((name) => process.env[name]).find((value) => value !== undefined);
  const device = options.device ?? Number(localRank ?? ranks.rank);
  if (Number.isInteger(device) && device >= 0 && device < devices) return { libraries, device };
  throw new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `NCCL: rank ${ranks.rank} needs GPU ${device} for itself, and its host has ${devices}; start no more ranks on a host than it has GPUs`,
    { details: { rank: ranks.rank, device, devices } },
  );
}

/** Runs a function on every rank. If the function fails on one rank, all ranks throw, so that no rank waits. */
async function together<T>(ranks: Ranks, run: () => T): Promise<T> {
  const [outcome] = await Promise.allSettled([(async () => run())()]);
  const problem = outcome.status === "rejected" ? errorText(outcome.reason) : "";
  const all = await ranks.allGather(new TextEncoder().encode(problem));
  if (outcome.status === "rejected") throw outcome.reason;
  const rank = all.findIndex(({ length }) => length > 0);
  if (rank < 0) return outcome.value;
  throw new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `NCCL: rank ${rank} cannot take part: ${new TextDecoder().decode(all[rank])}`,
    { details: { rank } },
  );
}

const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
