import { execFile } from "node:child_process";

/** Signals of a fault in the program. Any other was sent from outside: Ctrl-C, or a system that is out of memory. */
const FAULTS: ReadonlySet<string> = new Set(["SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGTRAP"]);

/**
 * Whether a program of Node runs to its end, in a process of its own: false if a fault such as SIGSEGV ended the process.
 * Undefined if this is unknown: it did not start, failed in another way, was killed, or took too long.
 */
export function endsWell(
  program: string,
  given: readonly string[],
  limitMs: number,
): Promise<boolean | undefined> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...given], { timeout: limitMs }, (error) => {
      if (error === null) resolve(true);
      else resolve(FAULTS.has(error.signal ?? "") ? false : undefined);
    });
  });
}
