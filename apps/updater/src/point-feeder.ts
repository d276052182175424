import { type PointBatch, pointBatch } from "@mp/cli/training";

/** A data feeder as NNabla has it: each call gives the next batch. */
export function pointFeeder(): () => PointBatch {
  let next = 0;
  return () => pointBatch(next++);
}
