/** Bindings kept. Sides flip in groups, so a program sees few combinations, unless many programs write its state. */
const KEPT = 8;

interface Releasable {
  release(): void;
}

/** Bindings by combination of sides; above a limit the least recently used is released. None may be running. */
export class PreparedBindings<B extends Releasable> {
  readonly #bindings = new Map<string, B>();

  /** The binding for those sides, created at their first use. */
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

  /** This also frees the bound memory: the engine references it as long as a binding does. */
  releaseAll(): void {
    for (const binding of this.#bindings.values()) binding.release();
    this.#bindings.clear();
  }
}
