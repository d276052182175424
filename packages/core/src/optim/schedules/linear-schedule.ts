import { div } from "@mp/graph/ops";
import type { Schedule } from "../optimizer.js";
import { between, constantRate, inUnit, positive, schedule } from "./schedule.js";

/** Goes linearly from `from` to `to` over `steps`, then stays at `to`. */
export function linearSchedule(from: number, to: number, steps: number): Schedule {
  constantRate("linearSchedule: from", from);
  constantRate("linearSchedule: to", to);
  positive("linearSchedule: steps", steps);
  return schedule("linearSchedule", { from, to, steps }, (t) => between(from, to, inUnit(div(t, steps))));
}
