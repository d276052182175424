import { type HostTensor, tensor } from "../src/host/host-tensor.js";
import type { Schedule } from "../src/optim/optimizer.js";
import type { Tensor } from "../src/trace/tensor.js";
import { traceTrees } from "./run-traced.js";

/** The rates of a schedule at these steps, on the oracle. */
export function ratesAt(schedule: Schedule, steps: readonly number[]): readonly number[] {
  const stepOf = (step: number): HostTensor => tensor(Int32Array.of(step), []);
  const run = traceTrees(stepOf(0), (step) => schedule(step as Tensor));
  return steps.map((step) => Number((run(stepOf(step)) as HostTensor).data[0]));
}
