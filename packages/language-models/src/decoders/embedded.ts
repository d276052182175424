import type { Tensor } from "@mp/core";
import { cast, gather } from "@mp/core/ops";

/** Looks up rows of a table. Only the rows are widened, not the table. */
export function embed(table: Tensor, indices: Tensor): Tensor {
  const rows = gather(table, indices);
  return rows.dtype === "f32" ? rows : cast(rows, "f32");
}
