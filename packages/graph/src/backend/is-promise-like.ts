/**
 * Whether a hook gave something to wait for. By its function `then`: a promise of another realm, as test runners have
 * them, or of a library is no instance of this realm's `Promise`.
 */
export function isPromiseLike<R>(value: R | PromiseLike<R>): value is PromiseLike<R> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
