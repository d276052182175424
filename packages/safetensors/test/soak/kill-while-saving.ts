// Kills a process that saves checkpoints, again and again, and reads what is left on the disk. The child runs the
// built package, so the package must be built.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { loadFile } from "../../src/file/tensor-file.js";
import { arrayOf } from "../../src/typed-arrays.js";

export interface KillStatistics {
  readonly kills: number;
  /** Saves that the children finished and reported. */
  readonly saves: number;
  /** Kills that left a half-written temporary file: they fell into a save. */
  readonly duringSave: number;
  /** Kills after the new file was in place and before the child could say so. */
  readonly beforeReport: number;
}

const child = fileURLToPath(new URL("./saving-child.mjs", import.meta.url));
const built = fileURLToPath(new URL("../../dist/file.js", import.meta.url));

/** Runs a child from that step on; resolves to the steps that it reported before it ended or was killed. */
function saveFrom(path: string, first: number, saves: number, killAfterMs: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const running = spawn(process.execPath, [child, path, String(first), String(saves)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let errors = "";
    let timer: NodeJS.Timeout | undefined;
    running.stdout.on("data", (data: Buffer) => {
      output += data.toString();
      if (saves === 0) timer ??= setTimeout(() => running.kill("SIGKILL"), killAfterMs);
    });
    running.stderr.on("data", (data: Buffer) => {
      errors += data.toString();
    });
    running.on("error", reject);
    running.on("close", (code, signal) => {
      clearTimeout(timer);
      if (saves === 0 ? signal !== "SIGKILL" : code !== 0) {
        reject(new Error(`the saving child ended with ${code ?? signal}: ${errors}`));
      } else resolve(output.split("\n").filter(Boolean).map(Number));
    });
  });
}

/** The step on disk, after a check that every element of every tensor belongs to that step. */
async function stepOnDisk(path: string): Promise<number> {
  const { tensors, metadata } = await loadFile(path);
  const { step: written } = metadata;
  const step = Number(written);
  const { "layer/kernel": f32, "layer/kernel16": bf16, step: i64 } = tensors;
  const whole =
    f32 !== undefined &&
    arrayOf(f32, "F32").every((x) => x === step) &&
    bf16 !== undefined &&
    arrayOf(bf16, "BF16").every((x) => x === step % 65536) &&
    i64 !== undefined &&
    arrayOf(i64, "I64")[0] === BigInt(step);
  if (!whole) throw new Error(`the file at step ${written} holds elements of other steps`);
  return step;
}

async function temporaries(path: string): Promise<number> {
  const names = await readdir(dirname(path));
  return names.filter((name) => name.startsWith(`.${basename(path)}.`)).length;
}

/**
 * `path` is the checkpoint, alone in its directory; each child is killed `killAfterMs()` after its first save.
 * @throws Error when a file is unreadable, mixed, or neither the last reported save nor the one after it, and
 * when leftovers of killed children outlive the next save
 */
export async function killWhileSaving(options: {
  readonly path: string;
  readonly kills: number;
  readonly killAfterMs: () => number;
}): Promise<KillStatistics> {
  const { path, kills, killAfterMs } = options;
  if (!existsSync(built)) throw new Error(`${built} is missing, build the package first`);
  let saves = 0;
  let duringSave = 0;
  let beforeReport = 0;
  let step = 0;
  for (let kill = 0; kill < kills; kill++) {
    const reported = await saveFrom(path, step + 1, 0, killAfterMs());
    saves += reported.length;
    const last = reported.at(-1) ?? 0;
    step = await stepOnDisk(path);
    if (step !== last && step !== last + 1) {
      throw new Error(`kill ${kill}: step ${last} was reported saved, step ${step} is on disk`);
    }
    beforeReport += step - last;
    const left = await temporaries(path);
    if (left > 1) throw new Error(`kill ${kill}: ${left} temporary files, of earlier kills`);
    duringSave += left;
  }
  await saveFrom(path, step + 1, 1, 0);
  if ((await stepOnDisk(path)) !== step + 1) throw new Error("the save after the kills is not on disk");
  if ((await temporaries(path)) !== 0) throw new Error("the save after the kills left temporary files");
  return { kills, saves, duringSave, beforeReport };
}
