import type { mpi } from "@mp/mpi";
import { median } from "../statistics.js";
import { time } from "../timing.js";

/**
 * Measures the median seconds of an in-place all-reduce of one f32 buffer of `length` elements, a lower bound
 * for exchanging as many gradients.
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
