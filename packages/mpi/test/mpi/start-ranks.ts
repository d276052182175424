import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("rank-program.mjs", import.meta.url));
const command = fileURLToPath(new URL("../../bin/mp-mpi.js", import.meta.url));

export interface Ended {
  readonly code: number | null;
  /** The lines that each rank printed, by its number. */
  readonly said: readonly (readonly unknown[])[];
  readonly errors: string;
  readonly seconds: number;
}

/** Runs a scenario of `rank-program.mjs` in two processes, through the package's own command. */
export function startRanks(...scenario: readonly string[]): Promise<Ended> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [command, "run", "-n", "2", "node", program, ...scenario], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    child.on("error", reject);
    child.on("close", (code) => {
      const lines = output.split("\n");
      const said = ["0", "1"].map((rank) =>
        lines
          .filter((line) => line.startsWith(`${rank} `))
          .map((line) => JSON.parse(line.slice(2)) as unknown),
      );
      resolve({ code, said, errors, seconds: (performance.now() - start) / 1000 });
    });
  });
}
