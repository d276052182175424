// ONNX's elementwise functions that are compositions of others, by the formulas of ONNX's specification.
import { isFloat, type Tensor } from "@mp/graph";
import {
  abs,
  add,
  cos,
  div,
  elu,
  exp,
  greater,
  log,
  maximum,
  minimum,
  mul,
  neg,
  sigmoid,
  sin,
  softplus,
  sqrt,
  square,
  sub,
  tanh,
  where,
} from "@mp/graph/ops";
import { acos, asin, atan } from "./compositions/inverse-trigonometry.js";
import { composition } from "./node/composition.js";
import { hardSigmoid, softsign, thresholdedRelu } from "./node/formulas.js";
import type { ReadNode } from "./node/node-reader.js";

/**
 * Reads an elementwise function, which computes in the operand's dtype as ONNX's function bodies do.
 * `defaults` has the defaults of the node's float attributes, in the order of the arguments of `fn`.
 */
const elementwise =
  (
    fn: (x: Tensor, ...attributes: number[]) => Tensor,
    defaults: Readonly<Record<string, number>> = {},
  ): ReadNode =>
  (reader) => {
    const x = reader.operand(0);
    if (!isFloat(x.dtype)) return reader.unsupported(`is of ${x.dtype}, here it is of floats`);
    const attributes = Object.entries(defaults).map(([name, value]) => reader.float(name, value));
    return reader.compose([x], (given) => fn(given, ...attributes));
  };

const scaleElu = (x: Tensor, alpha: number, gamma: number): Tensor =>
  mul(add(maximum(x, 0), minimum(mul(sub(exp(minimum(x, 0)), 1), alpha), 0)), gamma);

const swish = (x: Tensor, alpha: number): Tensor => mul(x, sigmoid(mul(x, alpha)));

const shrink = (x: Tensor, lambd: number, bias: number): Tensor =>
  where(greater(x, lambd), sub(x, bias), where(greater(-lambd, x), add(x, bias), 0));

/** log(x + √(x² + 1)), computed for |x|, because the sum cancels for negative x. */
function asinh(x: Tensor): Tensor {
  const size = abs(x);
  const value = log(add(size, sqrt(add(square(size), 1))));
  return where(greater(0, x), neg(value), value);
}

export const activationReaders: Readonly<Record<string, ReadNode>> = {
  HardSigmoid: elementwise(hardSigmoid, { alpha: 0.2, beta: 0.5 }),
  HardSwish: elementwise((x) => mul(x, hardSigmoid(x, 1 / 6, 0.5))),
  Swish: elementwise(swish, { alpha: 1 }),
  SwiGLU: composition(2, (reader, gate, x) => mul(swish(gate, reader.float("alpha", 1)), x)),
  Mish: elementwise((x) => mul(x, tanh(softplus(x)))),
  Selu: elementwise(scaleElu, { alpha: 1.6732632423543772, gamma: 1.0507009873554805 }),
  Celu: elementwise((x, alpha) => mul(elu(div(x, alpha), 1), alpha), { alpha: 1 }),
  ThresholdedRelu: elementwise(thresholdedRelu, { alpha: 1 }),
  Shrink: elementwise(shrink, { lambd: 0.5, bias: 0 }),
  Softsign: elementwise(softsign),
  Acos: elementwise(acos),
  Asin: elementwise(asin),
  Atan: elementwise(atan),
  Tan: elementwise((x) => div(sin(x), cos(x))),
  Sinh: elementwise((x) => div(sub(exp(x), exp(neg(x))), 2)),
  Cosh: elementwise((x) => div(add(exp(x), exp(neg(x))), 2)),
  Asinh: elementwise(asinh),
  Acosh: elementwise((x) => log(add(x, sqrt(sub(square(x), 1))))),
  Atanh: elementwise((x) => div(log(div(add(x, 1), sub(1, x))), 2)),
  PRelu: composition(2, (_reader, x, slope) => where(greater(0, x), mul(x, slope), x)),
};
