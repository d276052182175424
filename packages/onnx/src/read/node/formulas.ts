// Functions of ONNX that several readers compose, by the formulas of ONNX's specification.
import type { Tensor } from "@mp/graph";
import { abs, add, clip, div, greater, mul, where } from "@mp/graph/ops";

export const hardSigmoid = (x: Tensor, alpha: number, beta: number): Tensor =>
  clip(add(mul(x, alpha), beta), { min: 0, max: 1 });

export const softsign = (x: Tensor): Tensor => div(x, add(abs(x), 1));

export const thresholdedRelu = (x: Tensor, alpha: number): Tensor => where(greater(x, alpha), x, 0);
