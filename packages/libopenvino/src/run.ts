import { printStep, runCommandLine } from "@mp/wheels";
import { Command } from "commander";
import { install } from "./install.js";

const AFTER_HELP = `
The library is kept in $XDG_CACHE_HOME/mp or ~/.cache/mp (93 MB), which may be deleted at any time.

Exit status: 0 done, 1 failed, 2 invalid arguments, 3 the package index cannot be reached.
`;

/** Runs the command line. A failure is one line on standard error. @returns the exit code */
export function run(argv: readonly string[]): Promise<number> {
  const command = new Command("mp-libopenvino")
    .description(
      "Fetches OpenVINO's wheel with pip, checks its SHA-256 and keeps the libraries that compute on a processor.",
    )
    .option("--wheel <file>", "take this wheel and ask no index")
    .helpOption("-h, --help", "show this")
    .addHelpText("after", AFTER_HELP)
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .action(({ wheel }: { readonly wheel?: string }) =>
      install({ wheel, environment: process.env }, printStep),
    );
  return runCommandLine(command, argv);
}
