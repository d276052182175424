/** One rank of a job that times training steps; rank 0 prints the answer as its last line. Argument: a `RankJob`. */
import { mpi } from "@mp/mpi";
import { openEngine, precisionOf } from "../engine.js";
import type { EngineChoice } from "../job.js";
import { median } from "../statistics.js";
import { timedSteps } from "../timed-steps.js";
import { type SizedWorkload, workloadOf } from "../workloads/workloads.js";

export interface RankJob {
  readonly workload: SizedWorkload;
  readonly choice: EngineChoice;
  readonly accumulate: number;
  readonly steps: number;
}

export interface RankReport {
  /** Median of the steps. */
  readonly stepSeconds: number;
  /** Median of all-reduces of one buffer of the gradients' size; 0 on a single rank. */
  readonly allReduceSeconds: number;
  readonly losses: readonly number[];
}

const [WARMUP, REPEATS] = [3, 20];

const { workload: sized, choice, accumulate, steps } = JSON.parse(process.argv[2] ?? "") as RankJob;
const ranks = await mpi();
const backend = await openEngine(choice);
const workload = workloadOf(sized);
const training = await workload.train(backend, precisionOf("float32"), { accumulate, ranks });
const { milliseconds, losses } = await timedSteps(
  async () => (await training.step()).loss,
  // Ranks end together: by the number of steps, and not by their own clocks.
  { warmup: WARMUP, steps, seconds: Number.POSITIVE_INFINITY },
  performance.now(),
);

/** One buffer, all of whose memory is MPI's to change: what no exchange of these gradients can be faster than. */
async function allReduceSeconds(): Promise<number> {
  if (ranks.size === 1) return 0;
  const values = new Float32Array(workload.parameterCount);
  const times: number[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    await ranks.barrier();
    const start = performance.now();
    await ranks.allReduce(values);
    times.push((performance.now() - start) / 1000);
  }
  return median(times);
}

const report: RankReport = {
  stepSeconds: median(milliseconds) / 1000,
  allReduceSeconds: await allReduceSeconds(),
  losses,
};
await training.dispose();
await backend.dispose();
if (ranks.rank === 0) console.log(JSON.stringify(report));
await ranks.dispose();
