/** Opens MPI's library and reads its error texts. Knows nothing about ranks. */
import { MpError } from "@mp/graph";
import koffi from "koffi";
import { ABI, FUNCTIONS, type MpiFunctions } from "./abi-table.js";
import { bindFunctions, cells, type Unavailable } from "./bindings.js";
import { INSTALL_COMMAND, notInstalled } from "./locate.js";

export interface MpiLibrary {
  /** Absolute path, or the name that the system's loader found. */
  readonly path: string;
  readonly functions: MpiFunctions;
}

/** Stack size that backends in this process need; koffi takes it only before it loads its first library. */
const STACK_BYTES = 8 * 1024 * 1024;

/** @throws MP_BACKEND_UNAVAILABLE for a library that does not load or lacks the standard ABI */
export function openLibrary(path: string): MpiLibrary {
  growStacks();
  leaveAllocatorAlone();
  const functions = bindFunctions(path, "MPI_", FUNCTIONS, unavailable);
  const [major, minor] = [cells(Int32Array), cells(Int32Array)];
  if (functions.Abi_get_version(major, minor) === 0 && major[0] === 1) return { path, functions };
  // A library of another ABI has the same names, and takes other numbers for its constants.
  throw unavailable(
    path,
    `has no standard ABI of version 1 (MPI_Abi_get_version gives ${major[0]}.${minor[0]}), such as MPICH 5 in libmpi_abi.so.1`,
  );
}

const unavailable: Unavailable = (path, problem, cause) =>
  notInstalled(`MPI: ${path} ${problem}; install one with: ${INSTALL_COMMAND}`, { file: path }, cause);

function growStacks(): void {
  const { sync_stack_size = 0, async_stack_size = 0 } = koffi.config();
  try {
    koffi.config({
      ...koffi.config(),
      sync_stack_size: Math.max(sync_stack_size, STACK_BYTES),
      async_stack_size: Math.max(async_stack_size, STACK_BYTES),
    });
  } catch {
    // Other code used koffi first; the stack sizes stay as they are.
  }
}

/**
 * Keeps UCX, which MPICH may use between hosts, from patching `sbrk` and similar functions while threads of Node use
 * them: about one start in forty crashed later, inside V8. Without the patches UCX registers memory for each
 * transfer. A value that the user has set stays.
 */
function leaveAllocatorAlone(): void {
  process.env["UCX_MEM_EVENTS"] ??= "no";
}

/** Checks the code that the function `what` returned. @throws MP_BACKEND_FAILED with the library's text unless 0 */
export function checkCode({ functions }: MpiLibrary, code: number, what: string): void {
  if (code === 0) return;
  const text = readText(ABI.MAX_ERROR_STRING, (out, length) => functions.Error_string(code, out, length));
  throw new MpError("MP_BACKEND_FAILED", `mpi: ${what} failed with code ${code}: ${text || "no text"}`, {
    details: { function: what, code },
  });
}

/** The first line of the library's version text, such as `MPICH Version: 5.0.2`. */
export function libraryVersion({ functions }: MpiLibrary): string {
  const text = readText(ABI.MAX_LIBRARY_VERSION_STRING, functions.Get_library_version);
  return (text.split("\n")[0] ?? "").replace(/\s+/g, " ").trim();
}

function readText(size: number, read: (text: Buffer, length: Int32Array) => number): string {
  const text = Buffer.alloc(size);
  const length = cells(Int32Array);
  read(text, length);
  return text.toString("utf8", 0, length[0]);
}
