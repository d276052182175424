import { printStep, runCommandLine } from "@mp/wheels";
import { commandLine } from "./command-line.js";
import { check, install } from "./install.js";

/**
 * Runs the command line. Results go to standard output, a failure to standard error as one line. @returns the exit
 * code
 */
export function run(argv: readonly string[]): Promise<number> {
  const command = commandLine(({ checkOnly, ...choice }) => {
    const options = { ...choice, workingDirectory: process.cwd(), environment: process.env };
    return (checkOnly ? check : install)(options, printStep);
  });
  return runCommandLine(command, argv);
}
