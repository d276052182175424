/** The largest batch at which a training step fits into the memory, found by trying. */
import type { BenchOptions } from "./command-line.js";
import { OUT_OF_MEMORY, ProcessFailed } from "./fresh-process.js";
import type { StepJob } from "./job.js";
import { ask } from "./side.js";
import type { SizedWorkload } from "./workloads/workloads.js";

/** The search ends when the largest batch is known to a sixteenth of it. */
const PRECISION = 16;

/**
 * Doubles the batch from `first` until it does not fit, or to `most`, then halves the interval that is left.
 * @returns the largest batch that fitted, 0 if `first` did not
 */
export async function largestThatFits(
  first: number,
  most: number,
  fits: (batch: number) => Promise<boolean>,
): Promise<number> {
  let [good, bad] = [0, most + 1];
  for (let batch = Math.min(first, most); batch > good && batch < bad; ) {
    if (!(await fits(batch))) {
      bad = batch;
      break;
    }
    good = batch;
    batch = Math.min(2 * batch, most);
  }
  while (good > 0 && bad - good > Math.max(1, Math.floor(good / PRECISION))) {
    const middle = Math.floor((good + bad) / 2);
    if (await fits(middle)) good = middle;
    else bad = middle;
  }
  return good;
}

/** Finds our largest batch and each peer's, in the options' precision, with processes that make two steps. */
export async function largestBatches(
  workload: SizedWorkload,
  options: BenchOptions,
  most: number,
): Promise<Readonly<Record<string, number>>> {
  const first = workload.sizes["batch"];
  if (typeof first !== "number") throw new RangeError(`${workload.workload}: it has no batch`);
  const { precision, choice } = options;
  const found: Record<string, number> = {};
  for (const side of ["mp", ...options.against] as const) {
    found[side] = await largestThatFits(first, most, async (batch) => {
      const sizes = { ...workload.sizes, batch };
      const counts = { threads: choice.threads, warmup: 1, steps: 1, seconds: 0 };
      const job: StepJob = { workload: workload.workload, sizes, precision, ...counts };
      try {
        await ask(side, job, options);
        return true;
      } catch (error) {
        if (error instanceof ProcessFailed && error.code === OUT_OF_MEMORY) return false;
        throw error;
      }
    });
  }
  return found;
}
