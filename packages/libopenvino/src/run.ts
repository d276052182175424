import { MpError } from "@mp/graph";
import { isIndexUnreachable } from "@mp/wheels";
import { Command, CommanderError } from "commander";
import { install } from "./install.js";

const COMMAND = "mp-libopenvino";
const EXIT_FAILED = 1;
const EXIT_REFUSED = 2;
/** For callers that can do without the library: the package index cannot be reached, and nothing else is wrong. */
const EXIT_UNREACHABLE = 3;

const AFTER_HELP = `
The library is kept in $XDG_CACHE_HOME/mp or ~/.cache/mp (93 MB), which may be deleted at any time.

Exit status: 0 done, 1 failed, 2 invalid arguments, 3 the package index cannot be reached.
`;

/** Runs the command line. A failure is one line on standard error. @returns the exit code */
export async function run(argv: readonly string[]): Promise<number> {
  const command = new Command(COMMAND)
    .description(
      "Fetches OpenVINO's wheel with pip, checks its SHA-256 and keeps the libraries that compute on a processor.",
    )
    .option("--wheel <file>", "take this wheel and ask no index")
    .helpOption("-h, --help", "show this")
    .addHelpText("after", AFTER_HELP)
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .action(({ wheel }: { readonly wheel?: string }) => install({ wheel, environment: process.env }, print));
  try {
    await command.parseAsync(argv, { from: "user" });
    return 0;
  } catch (error) {
    return reportFailure(error);
  }
}

function reportFailure(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    complain(`${error.message.replace(/^error: /, "").split("\n")[0]}; --help lists the flags`);
    return EXIT_REFUSED;
  }
  if (!MpError.is(error)) throw error;
  complain(`${error.message} [${error.code}]`);
  if (isIndexUnreachable(error)) return EXIT_UNREACHABLE;
  return error.code === "MP_INVALID_ARGUMENT" ? EXIT_REFUSED : EXIT_FAILED;
}

function complain(line: string): void {
  process.stderr.write(`${COMMAND}: ${line}\n`);
}

function print(step: string, text: string): void {
  process.stdout.write(`${step.padEnd(9)} ${text}\n`);
}
