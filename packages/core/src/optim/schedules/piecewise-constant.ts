import type { Tensor } from "@mp/graph";
import { invalid } from "@mp/graph/internal";
import { less, literal, where } from "@mp/graph/ops";
import type { Schedule } from "../optimizer.js";
import { constantRate, STEPS, schedule } from "./schedule.js";

/** `values[i]` while step < boundaries[i], the last value after the last boundary. */
export function piecewiseConstant(boundaries: readonly number[], values: readonly number[]): Schedule {
  if (values.length !== boundaries.length + 1) {
    throw invalid(
      `piecewiseConstant: ${boundaries.length} boundaries take ${boundaries.length + 1} values, got ${values.length}`,
    );
  }
  for (const [index, value] of values.entries()) constantRate(`piecewiseConstant: value ${index}`, value);
  boundaries.forEach((boundary, index) => {
    const isStep = Number.isInteger(boundary) && boundary < STEPS;
    if (isStep && boundary > (boundaries[index - 1] ?? -1)) return;
    throw invalid(
      `piecewiseConstant: boundaries must be steps below 2^31 in ascending order, got ${boundaries.join(", ")}`,
    );
  });
  const settings = { boundaries: boundaries.join(" "), values: values.join(" ") };
  return schedule("piecewiseConstant", settings, (_t, step) =>
    boundaries.reduceRight<Tensor>(
      (later, boundary, index) => where(less(step, boundary), literal(values[index] as number), later),
      literal(values.at(-1) as number),
    ),
  );
}
