import type { FitEpoch, FitPosition } from "@mp/core/fit";

/** Numbers by their names. */
export type Scalars = Readonly<Record<string, number>>;

/** Keys of a result that are not among its logged numbers. */
const NOT_SCALARS = new Set(["step", "epoch", "batches", "samples", "milliseconds"]);

/**
 * Collects the numbers of a step or a validation by name: `loss`, the metrics and, for a step, `scale`, `gradNorm`,
 * `applied` (0 or 1), `retries`, `rates/GROUP` and the total `weight` of a loss that returns one. With objectives each name begins with the objective's: `d/loss`. A
 * metric that has the name of another number becomes `metrics/NAME`.
 */
export function readScalars(result: FitPosition | FitEpoch): Scalars {
  if ("loss" in result) return Object.fromEntries(listNumbers(result));
  const all = Object.entries(result).flatMap(([objective, own]) => {
    if (NOT_SCALARS.has(objective) || typeof own !== "object" || own === null) return [];
    return listNumbers(own as object).map(([name, value]) => [`${objective}/${name}`, value] as const);
  });
  return Object.fromEntries(all);
}

function listNumbers(result: object): readonly (readonly [name: string, value: number])[] {
  const { metrics = {}, rates = {}, ...rest } = result as Readonly<Record<string, unknown>>;
  const own = Object.entries(rest).flatMap(([name, value]): [string, number][] => {
    if (NOT_SCALARS.has(name)) return [];
    if (typeof value === "boolean") return [[name, Number(value)]];
    return typeof value === "number" ? [[name, value]] : [];
  });
  const names = new Set(own.map(([name]) => name));
  // A metric may be more than a number, such as a confusion matrix.
  const measured = Object.entries(metrics as object).filter(([, value]) => typeof value === "number");
  return [
    ...own,
    ...measured.map(([name, value]) => [names.has(name) ? `metrics/${name}` : name, value] as const),
    ...Object.entries(rates as object).map(([group, rate]) => [`rates/${group}`, rate] as const),
  ];
}

/** The loss of a step; with objectives, the losses by their names. */
export function readLosses(step: FitPosition): number | Scalars {
  const scalars = readScalars(step);
  if (scalars["loss"] !== undefined) return scalars["loss"];
  const losses = Object.entries(scalars).flatMap(([name, value]) =>
    name.endsWith("/loss") ? [[name.slice(0, -"/loss".length), value] as const] : [],
  );
  return Object.fromEntries(losses);
}

/** Whether a step was applied; with objectives, whether the steps of all objectives were. */
export function isApplied(step: FitPosition): boolean {
  return Object.entries(readScalars(step)).every(
    ([name, value]) => (name !== "applied" && !name.endsWith("/applied")) || value === 1,
  );
}
