// ONNX's functions of each element that are compositions of others, by the formulas of its specification.
import type { Tensor } from "@mp/core";
import { isFloat } from "@mp/core/graph";
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
} from "@mp/core/ops";
import { acos, asin, atan } from "./compositions/inverse-trigonometry.js";
import { hardSigmoid, softsign, thresholdedRelu } from "./node/formulas.js";
import type { NodeReader, ReadNode } from "./node/node-reader.js";
import { traced } from "./node/traced.js";

/** A function of the first operand; formulas are evaluated in its own dtype, as ONNX's function bodies are. */
const elementwise =
  (fn: (x: Tensor, reader: NodeReader) => Tensor): ReadNode =>
  (reader) => {
    const x = reader.operand(0);
    if (!isFloat(x.dtype)) return reader.unsupported(`is of ${x.dtype}, here it is of floats`);
    return [traced(reader, [x], (given) => fn(given, reader))];
  };

const scaledElu = (x: Tensor, alpha: number, gamma: number): Tensor =>
  mul(add(maximum(x, 0), minimum(mul(sub(exp(minimum(x, 0)), 1), alpha), 0)), gamma);

const swish = (x: Tensor, alpha: number): Tensor => mul(x, sigmoid(mul(x, alpha)));

/** log(x + √(x² + 1)), of the magnitude, since it cancels for negative numbers. */
function asinh(x: Tensor): Tensor {
  const size = abs(x);
  const value = log(add(size, sqrt(add(square(size), 1))));
  return where(greater(0, x), neg(value), value);
}

export const activationReaders: ReadonlyMap<string, ReadNode> = new Map<string, ReadNode>([
  [
    "HardSigmoid",
    elementwise((x, reader) => hardSigmoid(x, reader.float("alpha", 0.2), reader.float("beta", 0.5))),
  ],
  ["HardSwish", elementwise((x) => mul(x, hardSigmoid(x, 1 / 6, 0.5)))],
  ["Swish", elementwise((x, reader) => swish(x, reader.float("alpha", 1)))],
  [
    "SwiGLU",
    (reader) => {
      const alpha = reader.float("alpha", 1);
      return [
        traced(reader, [reader.operand(0), reader.operand(1)], (gate, x) => mul(swish(gate, alpha), x)),
      ];
    },
  ],
  ["Mish", elementwise((x) => mul(x, tanh(softplus(x))))],
  [
    "Selu",
    elementwise((x, reader) =>
      scaledElu(x, reader.float("alpha", 1.6732632423543772), reader.float("gamma", 1.0507009873554805)),
    ),
  ],
  [
    "Celu",
    elementwise((x, reader) => {
      const alpha = reader.float("alpha", 1);
      return mul(elu(div(x, alpha), 1), alpha);
    }),
  ],
  ["ThresholdedRelu", elementwise((x, reader) => thresholdedRelu(x, reader.float("alpha", 1)))],
  [
    "Shrink",
    elementwise((x, reader) => {
      const [lambd, bias] = [reader.float("lambd", 0.5), reader.float("bias", 0)];
      return where(greater(x, lambd), sub(x, bias), where(greater(-lambd, x), add(x, bias), 0));
    }),
  ],
  ["Softsign", elementwise(softsign)],
  ["Acos", elementwise(acos)],
  ["Asin", elementwise(asin)],
  ["Atan", elementwise(atan)],
  ["Tan", elementwise((x) => div(sin(x), cos(x)))],
  ["Sinh", elementwise((x) => div(sub(exp(x), exp(neg(x))), 2))],
  ["Cosh", elementwise((x) => div(add(exp(x), exp(neg(x))), 2))],
  ["Asinh", elementwise(asinh)],
  ["Acosh", elementwise((x) => log(add(x, sqrt(sub(square(x), 1)))))],
  ["Atanh", elementwise((x) => div(log(div(add(x, 1), sub(1, x))), 2))],
  [
    "PRelu",
    (reader) => [
      traced(reader, [reader.operand(0), reader.operand(1)], (x, slope) =>
        where(greater(0, x), mul(x, slope), x),
      ),
    ],
  ],
]);
