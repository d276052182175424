import type { StepJob, StepReport } from "./job.js";
import { watchOthers } from "./processor-load.js";
import { toDecimals } from "./statistics.js";
import { time } from "./timing.js";

const FEWEST_STEPS = 3;

/** Warms up, times steps one by one and returns everything but the versions. `step` resolves to the loss. */
export async function timeSteps(
  step: () => Promise<number>,
  job: Pick<StepJob, "warmup" | "steps" | "seconds">,
  startedAt: number,
): Promise<Omit<StepReport, "versions">> {
  const losses: number[] = [];
  for (let done = 0; done < job.warmup; done++) losses.push(await step());
  const startSeconds = (performance.now() - startedAt) / 1000;
  const others = watchOthers();
  const milliseconds: number[] = [];
  const begun = performance.now();
  while (
    milliseconds.length < job.steps &&
    (milliseconds.length < FEWEST_STEPS || performance.now() - begun < job.seconds * 1000)
  ) {
    losses.push(await time(milliseconds, step));
  }
  const otherCores = others();
  return {
    milliseconds: milliseconds.map((each) => toDecimals(each, 3)),
    losses: losses.map((loss) => toDecimals(loss, 6)),
    startSeconds: toDecimals(startSeconds, 2),
    peakResidentBytes: process.resourceUsage().maxRSS * 1024,
    otherCores,
  };
}
