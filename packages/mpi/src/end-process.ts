import { writeSync } from "node:fs";
import { MpError } from "@mp/graph";
import koffi from "koffi";

/**
 * Ends the process at once, without exit handlers, because those of a library may wait for other ranks. The launcher
 * sees that the rank ended without MPI_Finalize, and ends the other ranks.
 */
export function endProcess(code: number): never {
  exitNow ??= koffi.load(null).func("_exit", "void", ["int"]);
  exitNow(code);
  throw new Error("internal: the process did not end");
}

/** `_exit` of the system's C library, which is part of the running program. */
let exitNow: ((code: number) => void) | undefined;

/** Writes an error to standard error synchronously, because the process is about to end. */
export function sayLast(rank: number, size: number, error: unknown): void {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const text = MpError.is(error) ? `${error.message} [${error.code}]` : stack;
  try {
    writeSync(2, `rank ${rank} of ${size}: ${text}\n`);
  } catch {
    // Nobody reads standard error; the exit code remains.
  }
}

const PAUSE_MS = 500;

/** Gives the launcher time to pass on the last line, as MPICH's launcher drops unread output if a rank aborts. */
export function pauseForLauncher(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
}
