/**
 * Adds a property to a callback, not enumerable: `fit` refuses enumerable members that it does not know, because they
 * may be misspelled functions.
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
