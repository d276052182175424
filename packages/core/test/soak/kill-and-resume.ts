// Kills a process that trains and saves at every step, starts it again, and compares all that it reported with a run
// that was never killed.
import { readFile } from "node:fs/promises";
import { trainInProcess } from "./training-process.js";

export interface ResumeStatistics {
  readonly kills: number;
  /** Processes that ran to the end of the training. */
  readonly finished: number;
  /** Steps that were made more than once, because a kill fell between a step and its checkpoint. */
  readonly repeated: number;
}

/**
 * @param options.folder an empty one
 * @throws Error for a step whose bits differ from those of the run that was not killed
 */
export async function killAndResume(options: {
  readonly backend: string;
  readonly folder: string;
  readonly kills: number;
  readonly steps: number;
  readonly killAfterMs: () => number;
}): Promise<ResumeStatistics> {
  const { backend, folder, steps, killAfterMs } = options;
  const task = { backend, steps, task: "save" } as const;
  const straight = await trainInProcess({ ...task, path: `${folder}/straight` });
  const final = await readFile(`${folder}/straight`);
  if (straight.size !== steps) throw new Error(`the run that was not killed reported ${straight.size} steps`);

  let kills = 0;
  let finished = 0;
  let repeated = 0;
  for (let run = 0; kills < options.kills; run++) {
    const path = `${folder}/run${run}`;
    let stepsReported = 0;
    while (stepsReported < steps) {
      const isKilled = kills < options.kills;
      const delay = isKilled ? { killAfterMs: killAfterMs() } : {};
      const lines = await trainInProcess({ ...task, path, ...delay });
      for (const [step, line] of lines) {
        if (line === straight.get(step)) continue;
        throw new Error(`${backend}, run ${run}: step ${step} is ${line}, and was ${straight.get(step)}`);
      }
      const [first = stepsReported + 1] = lines.keys();
      if (first > stepsReported + 1)
        throw new Error(`${backend}, run ${run}: steps ${stepsReported + 1} to ${first - 1} are missing`);
      if (first <= stepsReported) repeated += stepsReported + 1 - first;
      const last = [...lines.keys()].at(-1) ?? stepsReported;
      if (last < steps) kills++;
      stepsReported = Math.max(stepsReported, last);
    }
    finished++;
    // It may have been killed between its last step and the checkpoint of it.
    await trainInProcess({ ...task, path });
    if (!(await readFile(path)).equals(final)) {
      throw new Error(
        `${backend}, run ${run}: its last checkpoint is not that of the run that was not killed`,
      );
    }
  }
  return { kills, finished, repeated };
}
