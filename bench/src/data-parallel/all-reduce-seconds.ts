import type { mpi } from "@mp/mpi";
import { median } from "../statistics.js";
import { time } from "../timing.js";

/**
 * Median seconds of all-reduces of one buffer of that many numbers, in place: no exchange of gradients of that size can
 * be faster.
 */
export async function allReduceSeconds(
  ranks: Awaited<ReturnType<typeof mpi>>,
  length: number,
  repeats: number,
): Promise<number> {
  const values = new Float32Array(length);
  const times: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    await ranks.barrier();
    await time(times, () => ranks.allReduce(values));
  }
  return median(times) / 1000;
}
