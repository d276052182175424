import { printStep, runCommandLine } from "@mp/wheels";
import { Argument, Command } from "commander";
import { install } from "./install.js";
import { RELEASES, type ReleaseName } from "./release.js";

const AFTER_HELP = `
The plugin is Apache-2.0 (JAX), the libraries are under NVIDIA's license, which is kept beside them. All are in
$XDG_CACHE_HOME/mp or ~/.cache/mp (495 MB or 2.3 GB), which may be deleted at any time.

Exit status: 0 done, 1 failed, 2 invalid arguments, 3 the package index cannot be reached.
`;

/** Runs the command line. A failure is one line on standard error. @returns the exit code */
export function run(argv: readonly string[]): Promise<number> {
  const command = new Command("mp-libxla")
    .helpOption("-h, --help", "show this")
    .addHelpText("after", AFTER_HELP)
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  command
    .command("install")
    .description("Fetches wheels with pip, checks their SHA-256 and keeps XLA's plugin and its libraries.")
    .addArgument(new Argument("<release>", "what to install").choices(Object.keys(RELEASES)))
    .option("--wheel <folder>", "take the wheels from this folder and ask no index")
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .action((release: ReleaseName, { wheel }: { readonly wheel?: string }) =>
      install(release, { wheel, environment: process.env }, printStep),
    );
  return runCommandLine(command, argv);
}
