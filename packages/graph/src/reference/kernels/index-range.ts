import { MpError } from "../../errors.js";
import type { Op } from "../../graph/attributes.js";

/** Turns an index that may count from the end into 0 … size-1. @throws MP_OUT_OF_RANGE naming index and axis */
export function resolveIndex(op: Op, index: number, size: number, axis: number): number {
  if (index >= -size && index < size) return index < 0 ? index + size : index;
  throw new MpError(
    "MP_OUT_OF_RANGE",
    `${op}: index ${index} is outside axis ${axis} of ${size}, use ${-size} … ${size - 1}`,
    { details: { op, index, axis, size } },
  );
}
