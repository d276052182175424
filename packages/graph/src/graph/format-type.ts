import { formatShape } from "../shape.js";
import type { ValueType } from "./attributes.js";

/** `f32[2, 3]`, the notation of messages and printed graphs. */
export function formatType(type: ValueType): string {
  return `${type.dtype}${formatShape(type.shape)}`;
}
