/** Called with each finished step: a word, and a line with versions, sizes and seconds. */
export type Report = (step: string, text: string) => void;

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Elapsed time, for a line of the report. */
export function since(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}
