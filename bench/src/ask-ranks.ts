import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { askProcess } from "./fresh-process.js";

/** The program behind `npx --no mp-mpi`. */
const LAUNCHER = join(dirname(fileURLToPath(import.meta.resolve("@mp/mpi"))), "mp-mpi.js");

/** Runs a program on several ranks, as an app starts them; returns rank 0's answer. @throws ProcessFailed */
export function askRanks<R>(ranks: number, program: string, argument: string): Promise<R> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const words = ["run", "-n", String(ranks), process.execPath, path, argument];
  return askProcess<R>(process.execPath, [LAUNCHER, ...words]);
}
