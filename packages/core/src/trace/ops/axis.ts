import { normalizeAxis } from "../../shape.js";
import { asTensor } from "../emit.js";
import type { Tensor } from "../tensor.js";

/**
 * An axis of x counted from its start.
 * @throws MP_INVALID_ARGUMENT for what is no traced tensor or no axis of it, `what` being the message's subject
 */
export function axisOf(x: Tensor, axis: number, what: string): number {
  return normalizeAxis(axis, asTensor(x, what).shape.length, what);
}
