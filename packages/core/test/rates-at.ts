import { type HostTensor, type Tensor, tensor } from "@mp/graph";
import { traceTrees } from "../../graph/test/run-traced.js";
import type { Schedule } from "../src/optim/optimizer.js";

/** The rates of a schedule at these steps, on the oracle. */
export function ratesAt(schedule: Schedule, steps: readonly number[]): readonly number[] {
  const stepOf = (step: number): HostTensor => tensor(Int32Array.of(step), []);
  const run = traceTrees(stepOf(0), (step) => schedule(step as Tensor));
  return steps.map((step) => Number((run(stepOf(step)) as HostTensor).data[0]));
}
