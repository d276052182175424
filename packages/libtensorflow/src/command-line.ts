import { Command, Option } from "commander";
import { DEFAULT_RELEASE, OLDEST_RELEASE } from "./releases.js";

export interface InstallChoice {
  readonly device: "cpu" | "cuda";
  readonly release: string;
  readonly wheel: string | undefined;
  readonly folder: string | undefined;
  readonly checkOnly: boolean;
}

interface Given {
  readonly cuda?: boolean;
  readonly version?: string;
  readonly wheel?: string;
  readonly package?: string;
  readonly check?: boolean;
}

const DESCRIPTION =
  "Puts a current libtensorflow under @tensorflow/tfjs-node: fetches TensorFlow's Python wheel, takes its C library, compiles tfjs-node's addon against it, and tests the new addon before it replaces the old one.";

const AFTER_HELP = `
Needs Linux x64 with glibc and a C++ compiler (g++, or what CXX names). pip downloads the wheel, with its own
configuration; without pip, give the file with --wheel. Unpacked libraries and compiled addons are
kept in $XDG_CACHE_HOME/mp or ~/.cache/mp (0.9 GB), which may be deleted at any time.

Exit status: 0 done, 1 failed, 2 invalid arguments, 3 the package index cannot be reached.
`;

/** Builds the command line; `act` is called with the choice that the arguments make. */
export function commandLine(act: (choice: InstallChoice) => Promise<unknown>): Command {
  return new Command("mp-libtensorflow")
    .description(DESCRIPTION)
    .usage("[flags]")
    .option("--cuda", "take the wheel for CUDA, and prefer @tensorflow/tfjs-node-gpu")
    .option(
      "--version <x.y.z>",
      `the release of TensorFlow, ${OLDEST_RELEASE} or later (default: ${DEFAULT_RELEASE})`,
    )
    .addOption(new Option("--wheel <file>", "take this wheel and ask no index").conflicts("version"))
    .option("--package <dir>", "tfjs-node's folder (default: the one that is found from here)")
    .addOption(
      new Option("--check", "change nothing, only try what is installed").conflicts(["version", "wheel"]),
    )
    .helpOption("-h, --help", "show this")
    .addHelpText("after", AFTER_HELP)
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .action(async (given: Given, command: Command) => {
      const { cuda = false, version = DEFAULT_RELEASE, wheel, package: folder, check = false } = given;
      if (!/^\d+\.\d+\.\d+$/.test(version) || isOlder(version, OLDEST_RELEASE))
        command.error(
          `--version: a release of TensorFlow from ${OLDEST_RELEASE} on is needed, such as ${DEFAULT_RELEASE}, got "${version}"`,
        );
      await act({ device: cuda ? "cuda" : "cpu", release: version, wheel, folder, checkOnly: check });
    });
}

function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split(".").map(Number));
  const first = b?.findIndex((part, i) => part !== a?.[i]) ?? -1;
  return first >= 0 && (a?.[first] ?? 0) < (b?.[first] ?? 0);
}
