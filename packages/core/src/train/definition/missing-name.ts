import { isTensor, leavesOf, MpError, type TensorTree } from "@mp/graph";

/**
 * Runs a user function over `tree`. A missing name is `undefined` in it; the operator that gets it cannot name the
 * others, so this adds the existing names to the error.
 */
export function tellingNames<T>(what: string, tree: TensorTree, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (!MpError.is(error) || error.details["got"] !== "undefined") throw error;
    const names = leavesOf(tree, isTensor, what).map(([path]) => path);
    // A single tensor has no names.
    if (isTensor(tree)) throw error;
    const there = names.length === 0 ? "is empty" : `has ${names.join(", ")}`;
    const { code, message, details } = error;
    throw new MpError(code, `${message}; ${what} ${there}`, { details: { ...details, names }, cause: error });
  }
}
