const WINDOW_MS = 10_000;

/**
 * Steps per second over the last ten seconds, measured from the end of the first step, which compiles and may take as
 * long as hundreds of later steps.
 */
export class StepRate {
  readonly #seen: { readonly step: number; readonly at: number }[] = [];

  /** Adds the time in ms at which step `step` ended, and returns the rate; undefined before the second step. */
  add(step: number, at: number): number | undefined {
    this.#seen.push({ step, at });
    while (this.#seen.length > 2 && (this.#seen[1]?.at ?? at) <= at - WINDOW_MS) this.#seen.shift();
    const first = this.#seen[0];
    if (first === undefined || at <= first.at) return undefined;
    return ((step - first.step) * 1000) / (at - first.at);
  }
}
