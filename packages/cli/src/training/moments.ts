type Show = (value: number) => string;

/** The mean and the sample standard deviation (n - 1), which is 0 for a single value. */
export function moments(values: readonly number[]): { readonly mean: number; readonly deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length < 2) return { mean, deviation: 0 };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: Math.sqrt(squares / (values.length - 1)) };
}

/** Formats values as `mean ± deviation`. */
export function spread(values: readonly number[], show: Show): string {
  const { mean, deviation } = moments(values);
  return `${show(mean)} ± ${show(deviation)}`;
}

/** Subtracts from each value the baseline's value for the same seed. */
export function differences(values: readonly number[], baseline: readonly number[]): readonly number[] {
  return values.map((value, index) => value - (baseline[index] ?? Number.NaN));
}

/** Formats differences as `+mean ± deviation`. */
export function signedSpread(values: readonly number[], show: Show): string {
  return `${moments(values).mean < 0 ? "" : "+"}${spread(values, show)}`;
}
