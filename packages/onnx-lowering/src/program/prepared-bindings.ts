/** Largest number of cached bindings. Slots that one program writes switch together, so few combinations occur. */
const KEPT = 8;

/** Caches bindings by their slots' sides; releases the least recently used one, which must not be running. */
export class PreparedBindings<B extends { release(): void }> {
  readonly #bindings = new Map<string, B>();

  /** Returns the binding for a combination of sides, and makes it at its first use. */
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

  /** Releases all bindings. The engine references the bound memory as long as a binding of it exists. */
  releaseAll(): void {
    for (const binding of this.#bindings.values()) binding.release();
    this.#bindings.clear();
  }
}
