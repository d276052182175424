/** Numbers functions by identity, in the order in which they are first seen. */
export class FunctionIds {
  readonly #ids = new WeakMap<object, number>();
  readonly #onNew: (id: number) => void;
  #count = 0;

  constructor(onNew: (id: number) => void) {
    this.#onNew = onNew;
  }

  idOf(given: object): number {
    const known = this.#ids.get(given);
    if (known !== undefined) return known;
    const id = this.#count++;
    this.#ids.set(given, id);
    this.#onNew(id);
    return id;
  }
}
