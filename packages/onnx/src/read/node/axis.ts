import { normalizeAxis } from "@mp/core/graph";
import type { NodeReader } from "./node-reader.js";

/** @throws MP_INVALID_ARGUMENT outside -rank … rank - 1 */
export function axisOf(reader: NodeReader, axis: number, rank: number): number {
  return normalizeAxis(axis, rank, reader.node.opType);
}
