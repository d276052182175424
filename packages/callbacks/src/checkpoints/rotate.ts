import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { FitTraining } from "@mp/core/fit";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import type { AnyCallback } from "../any-callback.js";
import { notDone } from "../log/log-file.js";

/** Options of `rotate`: where, how often and how many. */
export interface RotateOptions {
  /** Folder of the checkpoints, `step-N.safetensors` after N iterations; created if missing. */
  readonly folder: string;
  /** Number of checkpoints to keep; default 3. */
  readonly keep?: number;
  /** Iterations between checkpoints; default at the end of each pass. */
  readonly every?: number;
}

const OPTIONS = {
  folder: checks.path,
  keep: withDefault(3, checks.count),
  every: checks.optional(checks.count),
};

/**
 * Saves a checkpoint named after its step at the end of each pass, or every `every` iterations, and at the end of
 * `fit`. After each save it removes all but the last `keep`. It also removes files of later steps, left by another
 * run or by this one before it resumed from an earlier checkpoint, so that `latestCheckpoint` is of this run. Other
 * files in the folder stay.
 * @throws MP_INVALID_ARGUMENT for invalid options; `fit` rejects with MP_IO for a folder or file that cannot be written
 */
export function rotate(options: RotateOptions): AnyCallback {
  const { folder, keep, every } = readOptions<RotateOptions, typeof OPTIONS>("rotate", options, OPTIONS, {
    example: '{ folder: "checkpoints", keep: 3 }',
  });
  let training: FitTraining | undefined;
  let savedAt = -1;
  let isDue = false;
  const save = async (step: number): Promise<void> => {
    isDue = false;
    await (training as FitTraining).save(join(folder, nameAt(step)));
    savedAt = step;
    const found = await stepsIn(folder);
    const made = found.filter((other) => other <= step).sort((a, b) => b - a);
    for (const old of found.filter((other) => !made.slice(0, keep).includes(other))) {
      const path = join(folder, nameAt(old));
      await rm(path, { force: true }).catch((error: unknown) => {
        throw notDone(path, "removed", error);
      });
    }
  };
  return {
    onStart: async (start) => {
      training = start.training;
      savedAt = start.step;
      await mkdir(folder, { recursive: true }).catch((error: unknown) => {
        throw notDone(folder, "made", error);
      });
    },
    onStep: ({ step }) => {
      isDue = every !== undefined && step % every === 0;
    },
    onEpoch: () => {
      isDue = every === undefined;
    },
    afterCallbacks: async ({ step }) => {
      if (isDue) await save(step);
    },
    onEnd: async ({ steps, ended }) => {
      if (ended !== "failed" && steps > savedAt) await save(steps);
    },
  };
}

/**
 * Finds the latest checkpoint that `rotate` wrote to a folder, by number of iterations, and returns its path
 * for `load`. Returns undefined if there is no checkpoint or no folder.
 * @throws MP_INVALID_ARGUMENT for an invalid path, MP_IO for a folder that cannot be read
 */
export async function latestCheckpoint(folder: string): Promise<string | undefined> {
  checks.path("latestCheckpoint: folder", folder);
  const steps = await stepsIn(folder);
  return steps.length === 0 ? undefined : join(folder, nameAt(Math.max(...steps)));
}

const nameAt = (step: number): string => `step-${step}.safetensors`;

async function stepsIn(folder: string): Promise<number[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw notDone(folder, "read", error);
  });
  return entries.flatMap((entry) => {
    const step = /^step-(\d+)\.safetensors$/.exec(entry.name)?.[1];
    return step === undefined || entry.isDirectory() ? [] : [Number(step)];
  });
}
