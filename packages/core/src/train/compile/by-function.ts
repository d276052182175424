import type { TrainingWarning } from "../definition/warning.js";

/** Makes a value once for each function object. Warns at the third function, because each new function is compiled. */
export class ByFunction<F extends object, T> {
  readonly #made = new WeakMap<F, T>();
  readonly #what: string;
  readonly #warn: (warning: TrainingWarning) => void;
  readonly #make: (id: number, given: F) => T;
  #count = 0;

  /** @param make called with the function and with the number of functions seen before */
  constructor(what: string, warn: (warning: TrainingWarning) => void, make: (id: number, given: F) => T) {
    this.#what = what;
    this.#warn = warn;
    this.#make = make;
  }

  of(given: F): T {
    const known = this.#made.get(given);
    if (known !== undefined) return known;
    const id = this.#count++;
    const made = this.#make(id, given);
    this.#made.set(given, made);
    // Programs are kept by function, so a closure created in a loop is compiled in every iteration.
    if (id >= 2) {
      const message = `${this.#what}: a third function is being compiled; pass the same function object each time`;
      this.#warn({ type: "performance", message });
    }
    return made;
  }
}
