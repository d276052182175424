import type { Communicator } from "@mp/core/compat";

/** Simulates workers that all have the gradients of this process, so that the sum is a multiple of these gradients. */
export function simulateWorkers(workers: number): Communicator {
  return {
    allReduce: async (tensors) =>
      tensors.map((own) => {
        const data = (own.data as Float32Array).map((value) => workers * value);
        return { ...own, data } as typeof own;
      }),
  };
}
