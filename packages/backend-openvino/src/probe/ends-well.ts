import { execFile } from "node:child_process";

/**
 * Whether a program of Node comes to its end, in a process of its own: false if a signal such as SIGSEGV ended that. Undefined
 * where it could not say: it did not start, failed in another way, or took too long.
 */
export function endsWell(
  program: string,
  given: readonly string[],
  limitMs: number,
): Promise<boolean | undefined> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...given], { timeout: limitMs }, (error) => {
      if (error === null) resolve(true);
      else resolve(error.killed !== true && typeof error.signal === "string" ? false : undefined);
    });
  });
}
