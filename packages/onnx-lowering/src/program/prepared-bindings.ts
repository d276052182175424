/** Most bindings kept. Sides flip in groups, so there are few combinations unless many programs write a state. */
const KEPT = 8;

/** Caches bindings by combination of sides; the least recently used is released first. None may be running. */
export class PreparedBindings<B extends { release(): void }> {
  readonly #bindings = new Map<string, B>();

  /** The binding for a combination of sides, made at its first use. */
  get(sides: string, make: () => B): B {
    const known = this.#bindings.get(sides);
    if (known !== undefined) {
      if (this.#bindings.size > 2) {
        this.#bindings.delete(sides);
        this.#bindings.set(sides, known);
      }
      return known;
    }
    const binding = make();
    this.#bindings.set(sides, binding);
    if (this.#bindings.size > KEPT) {
      const [oldest] = this.#bindings;
      if (oldest !== undefined) {
        this.#bindings.delete(oldest[0]);
        oldest[1].release();
      }
    }
    return binding;
  }

  /** Releases all bindings, and so the bound memory, which the engine references as long as they exist. */
  releaseAll(): void {
    for (const binding of this.#bindings.values()) binding.release();
    this.#bindings.clear();
  }
}
