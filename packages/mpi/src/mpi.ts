import { cpus } from "node:os";
import { MpError } from "@mp/graph";
import { ABI } from "./abi-table.js";
import { cells } from "./bindings.js";
import { checkLauncher } from "./check-launcher.js";
import { checkCode, libraryVersion, type MpiLibrary, openLibrary } from "./library.js";
import { locateLibrary } from "./locate.js";
import { MpiRanks } from "./mpi-ranks.js";

export interface MpiOptions {
  /**
   * Absolute path of a library with MPI's standard ABI. Default: MP_MPI_LIBRARY, or that of `npx --no mp-mpi install`.
   */
  readonly library?: string;
  /**
   * Time limit of a wait for the other ranks, in milliseconds. After that time the process ends with exit code 1, and
   * the launcher ends the other processes. Default 600 000, because a rank may evaluate or save while the others wait.
   */
  readonly timeoutMs?: number;
  /** Called with each warning. Default: a line on standard error. */
  readonly onWarning?: (message: string) => void;
}

const TIMEOUT_MS = 600_000;

/**
 * Joins the MPI job in which `npx --no mp-mpi run`, `mpiexec` or `srun` started this process; a process started alone
 * is rank 0 of 1. Can be called once in a process. Without `dispose`, the end of the process aborts the job, so that
 * the others do not wait forever.
 * @throws MP_BACKEND_UNAVAILABLE if there is no library, or the launcher belongs to another MPI
 * @throws MP_BACKEND_FAILED if MPI does not start
 * @throws MP_INVALID_ARGUMENT for an invalid option, or if MPI was started in this process before
 * @example
 * const ranks = await mpi();
 * const sum = Float32Array.of(ranks.rank);
 * await ranks.allReduce(sum);
 * await ranks.dispose();
 */
export async function mpi(options: MpiOptions = {}): Promise<MpiRanks> {
  const { timeoutMs = TIMEOUT_MS, onWarning = console.error } = options;
  if (!(timeoutMs > 0))
    throw new MpError("MP_INVALID_ARGUMENT", `timeoutMs: milliseconds above 0 are needed, got ${timeoutMs}`);
  const library = openLibrary(locateLibrary(options.library, process.env));
  initialize(library);
  const { Comm_rank, Comm_size } = library.functions;
  const rank = readNumber(library, "MPI_Comm_rank", (out) => Comm_rank(ABI.COMM_WORLD, out));
  const size = readNumber(library, "MPI_Comm_size", (out) => Comm_size(ABI.COMM_WORLD, out));
  checkLauncher(size, libraryVersion(library), process.env);
  const local = countLocalRanks(library);
  const cores = cpus().length;
  if (rank === 0 && local > cores)
    onWarning(
      `mpi: ${local} ranks on a host of ${cores} cores; MPI waits by asking again and again, so that ranks without a core each stop the others: start ${cores} or fewer on a host`,
    );
  return new MpiRanks({ library, rank, size, timeoutMs });
}

function initialize(library: MpiLibrary): void {
  const { Initialized, Init_thread, Comm_set_errhandler } = library.functions;
  if (readNumber(library, "MPI_Initialized", (out) => Initialized(out)) !== 0)
    throw new MpError("MP_INVALID_ARGUMENT", "mpi: MPI starts once in a process, and was started before");
  const provided = readNumber(library, "MPI_Init_thread", (out) =>
    Init_thread(null, null, ABI.THREAD_SERIALIZED, out),
  );
  if (provided < ABI.THREAD_SERIALIZED)
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      `MPI: ${library.path} provides thread level ${provided}, ${ABI.THREAD_SERIALIZED} (MPI_THREAD_SERIALIZED) is needed; use a library that was built with threads`,
    );
  checkCode(library, Comm_set_errhandler(ABI.COMM_WORLD, ABI.ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

/** The number of ranks on this host. */
function countLocalRanks(library: MpiLibrary): number {
  const { Comm_split_type, Comm_size, Comm_free } = library.functions;
  const host = cells(BigUint64Array);
  const code = Comm_split_type(ABI.COMM_WORLD, ABI.COMM_TYPE_SHARED, 0, ABI.INFO_NULL, host);
  checkCode(library, code, "MPI_Comm_split_type");
  const size = readNumber(library, "MPI_Comm_size", (out) => Comm_size(host[0] ?? 0n, out));
  checkCode(library, Comm_free(host), "MPI_Comm_free");
  return size;
}

function readNumber(library: MpiLibrary, name: string, call: (out: Int32Array) => number): number {
  const out = cells(Int32Array);
  checkCode(library, call(out), name);
  return out[0] ?? 0;
}
