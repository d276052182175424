import { cast, greaterOrEqual, lessOrEqual, range, reshape, sub, where } from "@mp/graph/ops";
import type { ReadNode } from "./node/node-reader.js";

/** Reads Trilu: zeroes one side of a diagonal of the last two axes; `k` counts diagonals right of the main one. */
export const triangle: ReadNode = (reader) => {
  const [k = 0] = reader.integers(1) ?? [];
  const isUpper = reader.int("upper", 1) !== 0;
  const x = reader.operand(0);
  const [rows, columns] = x.shape.slice(-2);
  if (rows === undefined || columns === undefined) return reader.unsupported("takes no matrix");
  return reader.compose([x], (values) => {
    const distance = sub(range(0, columns), reshape(range(0, rows), [rows, 1]));
    const isKept = isUpper ? greaterOrEqual(distance, k) : lessOrEqual(distance, k);
    // A bool has no zero of its own to choose.
    if (values.dtype === "bool") return cast(where(isKept, cast(values, "i32"), 0), "bool");
    return where(isKept, values, 0);
  });
};
