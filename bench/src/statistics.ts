/** @throws RangeError without values */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  const upper = sorted[Math.ceil((sorted.length - 1) / 2)];
  if (lower === undefined || upper === undefined) throw new RangeError("median: there are no values");
  return (lower + upper) / 2;
}

/** Rounds a number to at most `decimals` decimals, so that result files stay readable. */
export function toDecimals(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}
