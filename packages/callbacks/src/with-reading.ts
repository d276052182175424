/**
 * Adds a property that is not enumerable to a callback, since `fit` refuses unknown enumerable members, which may be
 * misspelled hooks.
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
