import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const child = fileURLToPath(new URL("./training-child.mjs", import.meta.url));
const built = fileURLToPath(new URL("../../dist/index.js", import.meta.url));

export interface TrainingProcess {
  readonly backend: string;
  readonly path: string;
  /** Steps; with `reopen` how often the engine is opened, trained on for three steps, and disposed of. */
  readonly steps: number;
  readonly task: "save" | "watch" | "reopen";
  /** SIGKILL that long after its first line; left out, it runs to its end. */
  readonly killAfterMs?: number;
}

/** The output of the process: text by step. @throws Error when it ends by itself with an error */
export function trainInProcess(options: TrainingProcess): Promise<ReadonlyMap<number, string>> {
  const { backend, path, steps, task, killAfterMs } = options;
  if (!existsSync(built)) throw new Error(`${built} is missing, build the package first`);
  return new Promise((resolve, reject) => {
    const running = spawn(process.execPath, ["--expose-gc", child, backend, path, String(steps), task], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let errors = "";
    let timer: NodeJS.Timeout | undefined;
    running.stdout.on("data", (data: Buffer) => {
      output += data.toString();
      if (killAfterMs !== undefined) timer ??= setTimeout(() => running.kill("SIGKILL"), killAfterMs);
    });
    running.stderr.on("data", (data: Buffer) => {
      errors += data.toString();
    });
    running.on("error", reject);
    running.on("close", (code, signal) => {
      clearTimeout(timer);
      if (code !== 0 && !(signal === "SIGKILL" && killAfterMs !== undefined)) {
        reject(new Error(`training on ${backend} ended with ${code ?? signal}: ${errors}`));
        return;
      }
      // The last line may be cut off by the kill.
      const lines = output.split("\n").slice(0, -1);
      resolve(new Map(lines.map((line) => [Number.parseInt(line, 10), line.slice(line.indexOf(" ") + 1)])));
    });
  });
}
