import type { FitEpoch, FitPosition } from "@mp/core/fit";

/** Numbers by their names. */
export type Scalars = Readonly<Record<string, number>>;

/** Keys that locate a result and are not among its numbers. */
const PLACE = new Set(["step", "epoch", "batches", "samples", "milliseconds"]);

/**
 * The numbers of a step or of a validation: `loss`, the metrics by their names, and of a step `scale`, `gradNorm`,
 * `applied` (0 or 1), `retries` and `rates/GROUP`. With objectives each begins with the objective's name, `d/loss`. A
 * metric that has the name of another number is `metrics/NAME`.
 */
export function scalarsOf(result: FitPosition | FitEpoch): Scalars {
  if ("loss" in result) return Object.fromEntries(numbersOf(result));
  const all = Object.entries(result).flatMap(([objective, own]) => {
    if (PLACE.has(objective) || typeof own !== "object" || own === null) return [];
    return numbersOf(own as object).map(([name, value]) => [`${objective}/${name}`, value] as const);
  });
  return Object.fromEntries(all);
}

function numbersOf(result: object): readonly (readonly [name: string, value: number])[] {
  const { metrics = {}, rates = {}, ...rest } = result as Readonly<Record<string, unknown>>;
  const own = Object.entries(rest).flatMap(([name, value]): [string, number][] => {
    if (PLACE.has(name)) return [];
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

/** The losses of a step: the one, or those of its objectives by name. */
export function lossesOf(step: FitPosition): number | Scalars {
  const scalars = scalarsOf(step);
  if (scalars["loss"] !== undefined) return scalars["loss"];
  const losses = Object.entries(scalars).flatMap(([name, value]) =>
    name.endsWith("/loss") ? [[name.slice(0, -"/loss".length), value] as const] : [],
  );
  return Object.fromEntries(losses);
}

/** Whether a step was applied; with objectives, whether all of them were. */
export function isApplied(step: FitPosition): boolean {
  return Object.entries(scalarsOf(step)).every(
    ([name, value]) => (name !== "applied" && !name.endsWith("/applied")) || value === 1,
  );
}
