import type { Tensor } from "@mp/core";
import { cast, gather, reshape } from "@mp/core/ops";

/** Rows of a table by their indices. Only the rows are widened, not the table. */
export function embedded(table: Tensor, indices: Tensor): Tensor {
  const rows = gather(table, indices);
  return rows.dtype === "f32" ? rows : cast(rows, "f32");
}

/** The one place, i32 scalar, of x [batch, time, size]; all places where there is none. */
export const atPlace = (x: Tensor, place: Tensor | undefined): Tensor =>
  place === undefined ? x : gather(x, reshape(place, [1]), 1);
