type Show = (value: number) => string;

/** Mean, and the standard deviation of the values (n - 1); 0 for a single value. */
export function moments(values: readonly number[]): { readonly mean: number; readonly deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length < 2) return { mean, deviation: 0 };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: Math.sqrt(squares / (values.length - 1)) };
}

/** `mean ± deviation`. */
export function spread(values: readonly number[], show: Show): string {
  const { mean, deviation } = moments(values);
  return `${show(mean)} ± ${show(deviation)}`;
}

/** Subtracts the baseline of the same seed from each value. */
export function differences(values: readonly number[], baseline: readonly number[]): readonly number[] {
  return values.map((value, index) => value - (baseline[index] ?? Number.NaN));
}

/** `+mean ± deviation` of differences. */
export function signedSpread(values: readonly number[], show: Show): string {
  return `${moments(values).mean < 0 ? "" : "+"}${spread(values, show)}`;
}
