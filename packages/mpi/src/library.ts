/** Opens MPI's library and binds the functions of `abi-table.ts`. Knows nothing about ranks. */
import { MpError } from "@mp/core";
import koffi from "koffi";
import { ABI, FUNCTIONS, type MpiFunctions, PARAMETER_TYPES } from "./abi-table.js";
import { INSTALL_COMMAND } from "./locate.js";

export interface MpiLibrary {
  /** Absolute, or the name that the system's loader found. */
  readonly path: string;
  readonly functions: MpiFunctions;
}

/** Backends need this much in the same process, and koffi takes sizes only before its first library. */
const STACK_BYTES = 8 * 1024 * 1024;

/** @throws MP_BACKEND_UNAVAILABLE when it does not load or is not of the standard ABI */
export function openLibrary(path: string): MpiLibrary {
  growStacks();
  leaveAllocatorAlone();
  try {
    const library = koffi.load(path);
    const functions = Object.entries(FUNCTIONS).map(([name, parameters]) => [
      name,
      library.func(
        `MPI_${name}`,
        "int",
        parameters.map((kind) => PARAMETER_TYPES[kind]),
      ),
    ]);
    return checked({ path, functions: Object.freeze(Object.fromEntries(functions)) as MpiFunctions });
  } catch (cause) {
    if (MpError.is(cause)) throw cause;
    throw unavailable(
      path,
      `does not load (${cause instanceof Error ? cause.message : String(cause)})`,
      cause,
    );
  }
}

/** A library of another ABI has the same names, and takes other numbers for its constants. */
function checked(library: MpiLibrary): MpiLibrary {
  const [major, minor] = [cell(Int32Array), cell(Int32Array)];
  const code = library.functions.Abi_get_version(major, minor);
  if (code === 0 && major[0] === 1) return library;
  throw unavailable(
    library.path,
    `has no standard ABI of version 1 (MPI_Abi_get_version gives ${major[0]}.${minor[0]}), such as MPICH 5 in libmpi_abi.so.1`,
  );
}

function unavailable(path: string, problem: string, cause?: unknown): MpError {
  return new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `MPI: ${path} ${problem}; install one with: ${INSTALL_COMMAND}`,
    {
      details: { file: path, install: INSTALL_COMMAND },
      cause,
    },
  );
}

function growStacks(): void {
  const { sync_stack_size = 0, async_stack_size = 0 } = koffi.config();
  try {
    koffi.config({
      ...koffi.config(),
      sync_stack_size: Math.max(sync_stack_size, STACK_BYTES),
      async_stack_size: Math.max(async_stack_size, STACK_BYTES),
    });
  } catch {
    // Other code used koffi first, and its sizes stay.
  }
}

/**
 * UCX, which MPICH may use between hosts, patches `sbrk` and its like while threads of Node use them; about one start in
 * forty then crashed later, inside V8. Without the patches it registers memory for each transfer. The user's value stays.
 */
function leaveAllocatorAlone(): void {
  process.env["UCX_MEM_EVENTS"] ??= "no";
}

/** One number that the library writes. Its memory does not move, which that of small arrays without a buffer may. */
export function cell<A extends Int32Array | BigInt64Array>(
  type: (new (buffer: ArrayBuffer) => A) & { readonly BYTES_PER_ELEMENT: number },
): A {
  return new type(new ArrayBuffer(type.BYTES_PER_ELEMENT));
}

/**
 * @param code what a function returned
 * @throws MP_BACKEND_FAILED with the library's text for any code but 0
 */
export function checkCode({ functions }: MpiLibrary, code: number, what: string): void {
  if (code === 0) return;
  const text = Buffer.alloc(ABI.MAX_ERROR_STRING);
  const length = cell(Int32Array);
  functions.Error_string(code, text, length);
  const said = text.toString("utf8", 0, length[0]) || "no text";
  throw new MpError("MP_BACKEND_FAILED", `mpi: ${what} failed with code ${code}: ${said}`, {
    details: { function: what, code },
  });
}

/** The first line of what the library says about itself, such as `MPICH Version: 5.0.2`. */
export function libraryVersion({ functions }: MpiLibrary): string {
  const text = Buffer.alloc(ABI.MAX_LIBRARY_VERSION_STRING);
  const length = cell(Int32Array);
  functions.Get_library_version(text, length);
  return (text.toString("utf8", 0, length[0]).split("\n")[0] ?? "").replace(/\s+/g, " ").trim();
}
