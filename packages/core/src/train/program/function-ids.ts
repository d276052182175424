import type { TrainingWarning } from "../warning.js";

/** Numbers functions by identity, in the order in which they are first seen; the third one warns. */
export class FunctionIds {
  readonly #ids = new WeakMap<object, number>();
  readonly #what: string;
  readonly #warn: (warning: TrainingWarning) => void;
  #count = 0;

  constructor(what: string, warn: (warning: TrainingWarning) => void) {
    this.#what = what;
    this.#warn = warn;
  }

  idOf(given: object): number {
    const known = this.#ids.get(given);
    if (known !== undefined) return known;
    const id = this.#count++;
    this.#ids.set(given, id);
    // Programs are kept by function, so a closure created in a loop is compiled in every iteration.
    if (id >= 2) {
      const message = `${this.#what}: a third function is being compiled; pass the same function object each time`;
      this.#warn({ type: "performance", message });
    }
    return id;
  }
}
