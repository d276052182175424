/** One of two ranks that time their all-reduce; rank 0 prints the answer as its last line. Argument: bytes. */
import { mpi } from "@mp/mpi";
import { allReduceSeconds } from "../data-parallel/all-reduce-seconds.js";

/** Seconds of the all-reduces of two ranks. */
export interface AllReduceReport {
  readonly oneNumberSeconds: number;
  readonly seconds: number;
}

const [SMALL_REPEATS, LARGE_REPEATS] = [2000, 40];

const ranks = await mpi();
const report: AllReduceReport = {
  oneNumberSeconds: await allReduceSeconds(ranks, 1, SMALL_REPEATS),
  seconds: await allReduceSeconds(ranks, Math.ceil(Number(process.argv[2]) / 4), LARGE_REPEATS),
};
await ranks.dispose();
if (ranks.rank === 0) console.log(JSON.stringify(report));
