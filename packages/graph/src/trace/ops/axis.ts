import { normalizeAxis } from "../../shape.js";
import { asTensor } from "../emit.js";
import type { Tensor } from "../tensor.js";

/**
 * Turns an axis of x that may count from the end into one that counts from the start.
 * @throws MP_INVALID_ARGUMENT for a value that is not a traced tensor or an axis out of range; `what` is the
 *   message's subject
 */
export function readAxis(x: Tensor, axis: number, what: string): number {
  return normalizeAxis(axis, asTensor(x, what).shape.length, what);
}
