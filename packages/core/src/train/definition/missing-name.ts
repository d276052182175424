import { isTensor, leavesOf, MpError, type TensorTree } from "@mp/graph";

/**
 * Runs a user function over `tree` and adds the existing names to errors about a missing name. The function sees
 * `undefined` for a missing name, and the operator that throws does not know the existing names.
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
