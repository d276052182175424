/** One rank of a job that times training steps; rank 0 prints the answer as its last line. Argument: a `RankJob`. */
import { mpi } from "@mp/mpi";
import { openEngine, precisions } from "../engine.js";
import type { EngineChoice, PrecisionName } from "../job.js";
import { median } from "../statistics.js";
import { timeSteps } from "../time-steps.js";
import { makeWorkload, type SizedWorkload } from "../workloads/workloads.js";
import { allReduceSeconds } from "./all-reduce-seconds.js";
import { observeStates } from "./observed-states.js";

export interface RankJob {
  readonly workload: SizedWorkload;
  readonly choice: EngineChoice;
  readonly precision: PrecisionName;
  readonly accumulate: number;
  readonly isSharded: boolean;
  readonly steps: number;
}

export interface RankReport {
  /** Median time of a step. */
  readonly stepSeconds: number;
  /** Median time of an all-reduce of one buffer of the gradients' size; 0 on a single rank. */
  readonly allReduceSeconds: number;
  /** Median time that a step takes to all-reduce its gradients, with the copies needed; 0 on a single rank. */
  readonly reductionSeconds: number;
  readonly losses: readonly number[];
  /** Bytes of rank 0's state by slot. */
  readonly slotBytes: Readonly<Record<string, number>>;
}

const [WARMUP, REPEATS] = [3, 20];

const job = JSON.parse(process.argv[2] ?? "") as RankJob;
const { accumulate, steps } = job;
const ranks = await mpi();
const { backend, slotBytes, reductionMilliseconds } = observeStates(await openEngine(job.choice));
const workload = makeWorkload(job.workload);
const training = await workload.train(backend, precisions[job.precision](), {
  accumulate,
  ranks,
  ...(job.isSharded ? { shard: "optimizer" } : {}),
});
const { milliseconds, losses } = await timeSteps(
  async () => (await training.step()).loss,
  // No time limit: all ranks must make the same number of steps.
  { warmup: WARMUP, steps, seconds: Number.POSITIVE_INFINITY },
  performance.now(),
);

const report: RankReport = {
  stepSeconds: median(milliseconds) / 1000,
  allReduceSeconds: ranks.size === 1 ? 0 : await allReduceSeconds(ranks, workload.parameterCount, REPEATS),
  reductionSeconds: ranks.size === 1 ? 0 : median(reductionMilliseconds) / 1000,
  losses,
  slotBytes: Object.fromEntries(slotBytes),
};
await training.dispose();
await backend.dispose();
if (ranks.rank === 0) console.log(JSON.stringify(report));
await ranks.dispose();
