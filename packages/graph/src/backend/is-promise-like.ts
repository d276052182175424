/**
 * Whether a hook returned a promise. Looks for its method `then`, since promises of another realm (as in test runners)
 * or of a library are not instances of this realm's `Promise`.
 */
export function isPromiseLike<R>(value: R | PromiseLike<R>): value is PromiseLike<R> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
