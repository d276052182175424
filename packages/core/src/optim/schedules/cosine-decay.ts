import { readOptions, withDefault } from "@mp/graph/internal";
import type { Schedule } from "../optimizer.js";
import { between, constantRate, halfCosine, positive, schedule, shareLeft } from "./schedule.js";

/** Decays along a half cosine from `initial` to `final` (default 0) over `steps`, then stays at `final`. */
export function cosineDecay(
  initial: number,
  options: { readonly steps: number; readonly final?: number },
): Schedule {
  constantRate("cosineDecay: initial", initial);
  const table = { steps: positive, final: withDefault(0, constantRate) };
  const settings = readOptions("cosineDecay", options, table, { example: "{ steps: 10_000 }" });
  const { steps, final } = settings;
  return schedule("cosineDecay", { initial, ...settings }, (t) =>
    between(final, initial, halfCosine(shareLeft(t, steps))),
  );
}
