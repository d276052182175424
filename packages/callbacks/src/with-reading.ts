/**
 * The callback with something to read, which `fit` does not take for a misspelled function: it refuses members of plain
 * objects that it does not know, and sees only those that are enumerable.
 */
export function withReading<C extends object, const K extends string, V>(
  callback: C,
  name: K,
  read: () => V,
): C & { readonly [N in K]: V } {
  return Object.defineProperty(callback, name, { get: read, enumerable: false }) as C & {
    readonly [N in K]: V;
  };
}
