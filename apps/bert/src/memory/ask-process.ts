import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { flagName } from "@mp/cli";
import type { Options } from "../flags.js";
import type { Measured } from "./measured.js";

/** Freed blocks go back to the system, so that the peak is one of memory in use (glibc). */
const ENVIRONMENT = { MALLOC_MMAP_THRESHOLD_: "1048576", TF_CPP_MIN_LOG_LEVEL: "3" };

/** Flags that decide what is trained; the others say what is done with it. */
const PASSED = [
  "backend", "device", "precision", "lossScale", "initialScale", "masterWeights", "accumulate", "checkpointing", "seed",
  "data", "task", "layers", "size", "heads", "hidden", "sequence", "batch", "vocab", "dropout", "halfReductions",
] as const satisfies readonly (keyof Options)[]; // biome-ignore format: one list

/** Trains a few steps in a process of its own. @throws Error with its last lines when it fails */
export async function measure(options: Options, signal: AbortSignal): Promise<Measured> {
  const flags = PASSED.flatMap((name): readonly string[] => {
    const value = options[name];
    if (value === undefined || value === false) return [];
    return value === true ? [flagName(name)] : [flagName(name), String(value)];
  });
  const program = fileURLToPath(new URL("./measure.js", import.meta.url));
  const child = spawn(process.execPath, ["--expose-gc", program, ...flags], {
    env: { ...process.env, ...ENVIRONMENT },
    stdio: ["ignore", "pipe", "pipe"],
    signal,
  });
  const [output, errors] = await Promise.all([textOf(child.stdout), textOf(child.stderr), ended(child)]);
  const answer = output.trimEnd().split("\n").at(-1) ?? "";
  try {
    return JSON.parse(answer) as Measured;
  } catch {
    throw new Error(`memory: the measuring process ended early: ${errors.trim().split("\n").at(-1)}`);
  }
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}

const ended = (child: ReturnType<typeof spawn>): Promise<void> =>
  new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve());
  });
