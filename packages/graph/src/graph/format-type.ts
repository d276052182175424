import { formatShape } from "../shape.js";
import type { ValueType } from "./attributes.js";

/** A type as messages and printed graphs show it: `f32[2, 3]`. */
export function formatType(type: ValueType): string {
  return `${type.dtype}${formatShape(type.shape)}`;
}
