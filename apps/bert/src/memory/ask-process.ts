import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { flagName } from "@mp/cli";
import type { Options } from "../flags.js";
import type { Measured } from "./measure.js";

/** Makes glibc give freed blocks back to the system, so that the peak is of memory in use. */
const ENVIRONMENT = { MALLOC_MMAP_THRESHOLD_: "1048576", TF_CPP_MIN_LOG_LEVEL: "3" };

/** Flags that change the training step, and so its memory. */
const PASSED = [
  "backend", "device", "precision", "lossScale", "initialScale", "masterWeights", "accumulate", "checkpointing", "seed",
  "data", "task", "layers", "size", "heads", "hidden", "sequence", "batch", "vocab", "dropout", "halfReductions",
] as const satisfies readonly (keyof Options)[]; // biome-ignore format: one list

/** Trains a few steps in a process of its own. @throws Error with its last line when it fails */
export async function measure(options: Options, signal: AbortSignal): Promise<Measured> {
  const flags = PASSED.flatMap((name): readonly string[] => {
    const value = options[name];
    if (value === undefined || value === false) return [];
    return value === true ? [flagName(name)] : [flagName(name), String(value)];
  });
  const program = fileURLToPath(new URL("./measure.js", import.meta.url));
  const env = { ...process.env, ...ENVIRONMENT };
  const ended = promisify(execFile)(process.execPath, ["--expose-gc", program, ...flags], { env, signal });
  const { stdout } = await ended.catch((error: Error & { readonly stderr?: string }) => {
    if (signal.aborted || error.stderr === undefined) throw error;
    throw new Error(`memory: the measuring process ended early: ${error.stderr.trim().split("\n").at(-1)}`);
  });
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as Measured;
}
