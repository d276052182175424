import type { Tensor } from "@mp/core";
import { cast, gather } from "@mp/core/ops";

/** Looks up rows of a table; only the rows are cast to the wider dtype, not the table. */
export function embed(table: Tensor, indices: Tensor): Tensor {
  const rows = gather(table, indices);
  return rows.dtype === "f32" ? rows : cast(rows, "f32");
}
