import { printStep, runCommandLine } from "@mp/wheels";
import { Command } from "commander";
import { install } from "./install.js";
import { startProcesses } from "./start-processes.js";

const COMMAND = "mp-mpi";

const failureText = (code: number): string =>
  `the job ended with exit code ${code}: a process failed, which says why above, or was killed; the others were ended with it. Go on from the last checkpoint [MP_BACKEND_FAILED]`;

const AFTER_HELP = `
MPI is kept in $XDG_CACHE_HOME/mp or ~/.cache/mp (37 MB), which may be deleted at any time.

Exit status of install: 0 done, 1 failed, 2 invalid arguments, 3 the package index cannot be reached. That of run is
the launcher's.
`;

/** Runs the command line, and prints a failure as one line on standard error. @returns the exit code */
export async function run(argv: readonly string[]): Promise<number> {
  let code = 0;
  const command = new Command(COMMAND)
    .description("Installs MPICH from the Python package index, and starts the processes of a job.")
    .helpOption("-h, --help", "show this")
    .addHelpText("after", AFTER_HELP)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  command
    .command("install")
    .description("fetches the wheel of MPICH with pip, checks its SHA-256 and unpacks it into the cache")
    .option("--wheel <file>", "take this wheel and ask no index")
    .exitOverride()
    .action(async ({ wheel }: { readonly wheel?: string }) => {
      await install({ wheel, environment: process.env }, printStep);
    });
  command
    .command("run")
    .description(
      "starts the command in some processes of this machine, through the mpiexec of MP_MPIEXEC, of MPI's installed library, or on PATH",
    )
    .requiredOption("-n <processes>", "how many")
    .argument("<command...>", "what each process runs, such as: node train.js")
    .passThroughOptions()
    .exitOverride()
    .action(async (words: readonly string[], { n }: { readonly n: string }) => {
      code = await startProcesses({ processes: n, words, environment: process.env });
      if (code !== 0) process.stderr.write(`${COMMAND}: ${failureText(code)}\n`);
    });
  const refused = await runCommandLine(command, argv, "commands");
  return refused === 0 ? code : refused;
}
