import type { Tensor } from "../tensor.js";
import { mul } from "./binary.js";
import { sigmoid } from "./unary.js";

/** x · sigmoid(x) of each element, which Keras also calls swish; floats of any shape. */
export function silu(x: Tensor): Tensor {
  return mul(x, sigmoid(x));
}
