import { MpError } from "@mp/graph";
import { isIndexUnreachable, type Report } from "@mp/wheels";
import { COMMAND, parseCommandLine } from "./command-line.js";
import { check, install } from "./install.js";

const EXIT_FAILED = 1;
const EXIT_REFUSED = 2;
/** For callers that can do without the library: nothing is wrong on this machine, only the index is unreachable. */
const EXIT_UNREACHABLE = 3;

/**
 * Runs the command line. Results go to standard output; a failure is one line on standard error.
 * @returns the exit code
 */
export async function run(argv: readonly string[]): Promise<number> {
  const parsed = parseCommandLine(argv);
  if (parsed.kind === "help") {
    process.stdout.write(parsed.text);
    return 0;
  }
  if (parsed.kind === "refused") {
    process.stderr.write(`${COMMAND}: ${parsed.message}; --help lists the flags\n`);
    return EXIT_REFUSED;
  }
  const { checkOnly, ...choice } = parsed.choice;
  const options = { ...choice, workingDirectory: process.cwd(), environment: process.env };
  try {
    await (checkOnly ? check(options, print) : install(options, print));
    return 0;
  } catch (error) {
    if (!MpError.is(error)) throw error;
    process.stderr.write(`${COMMAND}: ${error.message} [${error.code}]\n`);
    if (isIndexUnreachable(error)) return EXIT_UNREACHABLE;
    return error.code === "MP_INVALID_ARGUMENT" ? EXIT_REFUSED : EXIT_FAILED;
  }
}

const print: Report = (step, text) => {
  process.stdout.write(`${step.padEnd(9)} ${text}\n`);
};
