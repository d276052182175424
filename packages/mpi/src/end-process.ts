import { writeSync } from "node:fs";
import { MpError } from "@mp/core";
import koffi from "koffi";

/**
 * Ends the process without running anything more: neither handlers of Node nor those of a library, which may wait for
 * other ranks. The launcher sees a rank that ended without MPI_Finalize, and ends the others.
 */
export function endProcess(code: number): never {
  exitNow ??= koffi.load(null).func("_exit", "void", ["int"]);
  exitNow(code);
  throw new Error("internal: the process did not end");
}

/** Found in the running program, which has the system's C library. */
let exitNow: ((code: number) => void) | undefined;

/** Writes one line on standard error, and waits until it is written: the process is about to end. */
export function sayLast(rank: number, size: number, error: unknown): void {
  const text = MpError.is(error) ? `${error.message} [${error.code}]` : textOf(error);
  try {
    writeSync(2, `rank ${rank} of ${size}: ${text}\n`);
  } catch {
    // Nobody reads it any more; the exit code remains.
  }
}

/** How long a launcher gets to pass on what was said last: MPICH's drops what it has not read when a rank aborts the job. */
const PASSED_ON_MS = 500;

export function pauseForLauncher(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PASSED_ON_MS);
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
