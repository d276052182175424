/** One of two ranks that time their all-reduce; rank 0 prints the answer as its last line. Argument: bytes. */
import { mpi } from "@mp/mpi";
import { median } from "../statistics.js";

/** Seconds of the all-reduces of two ranks. */
export interface AllReduceReport {
  readonly oneNumberSeconds: number;
  readonly seconds: number;
}

const [SMALL_REPEATS, LARGE_REPEATS] = [2000, 40];

const ranks = await mpi();
const bytes = Number(process.argv[2]);

async function time(length: number, repeats: number): Promise<number> {
  const values = new Float32Array(length);
  const seconds: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    await ranks.barrier();
    const start = performance.now();
    await ranks.allReduce(values);
    seconds.push((performance.now() - start) / 1000);
  }
  return median(seconds);
}

const report: AllReduceReport = {
  oneNumberSeconds: await time(1, SMALL_REPEATS),
  seconds: await time(Math.ceil(bytes / 4), LARGE_REPEATS),
};
await ranks.dispose();
if (ranks.rank === 0) console.log(JSON.stringify(report));
