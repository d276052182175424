import type { Tensor } from "@mp/core";
import { reshape } from "@mp/core/ops";

/** Joins all axes but the first: [batch, …] to [batch, n], between convolutions and dense layers. Any dtype. */
export function flatten(x: Tensor): Tensor {
  return reshape(x, [x.shape[0] ?? 1, -1]);
}
