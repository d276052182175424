import { MpError } from "@mp/graph";
import { isIndexUnreachable } from "./index-failure.js";
import type { Report } from "./report.js";

const EXIT_FAILED = 1;
const EXIT_REFUSED = 2;
/** Exit code if only the package index cannot be reached, so that callers can do without the library. */
const EXIT_UNREACHABLE = 3;

/** A command of commander, set to throw instead of ending the process. */
interface CommandLine {
  name(): string;
  parseAsync(argv: readonly string[], options: { readonly from: "user" }): Promise<unknown>;
}

/**
 * Runs an installer's command line. A failure is one line on standard error.
 * @param lists the things that its `--help` lists, for messages
 * @returns the exit code
 */
export async function runCommandLine(
  command: CommandLine,
  argv: readonly string[],
  lists = "flags",
): Promise<number> {
  const complain = (line: string): void => void process.stderr.write(`${command.name()}: ${line}\n`);
  try {
    await command.parseAsync(argv, { from: "user" });
    return 0;
  } catch (error) {
    if (isRefusal(error)) {
      if (error.exitCode === 0) return 0;
      complain(`${error.message.replace(/^error: /, "").replaceAll("\n", " ")}; --help lists the ${lists}`);
      return EXIT_REFUSED;
    }
    if (!MpError.is(error)) throw error;
    complain(`${error.message} [${error.code}]`);
    if (isIndexUnreachable(error)) return EXIT_UNREACHABLE;
    return error.code === "MP_INVALID_ARGUMENT" ? EXIT_REFUSED : EXIT_FAILED;
  }
}

/** Whether commander refused the arguments, or printed help and ended with 0. */
function isRefusal(error: unknown): error is Error & { readonly exitCode: number } {
  return error instanceof Error && "code" in error && String(error.code).startsWith("commander.");
}

/** Prints a step on standard output. */
export const printStep: Report = (step, text) => {
  process.stdout.write(`${step.padEnd(9)} ${text}\n`);
};
