import type { OpOf } from "@mp/core/graph";
import {
  abs,
  cast,
  clip,
  cos,
  elu,
  erf,
  exp,
  gelu,
  identity,
  leakyRelu,
  log,
  neg,
  reciprocal,
  relu,
  sigmoid,
  sin,
  softplus,
  sqrt,
  tanh,
} from "@mp/core/ops";
import {
  type GradientRows,
  type GradientSample,
  numbers,
  type Point,
  positive,
  sample,
  spread,
} from "../gradient-sample.js";
import { of1, PREDICATE, STEPS, type Unary } from "./of-operands.js";

const unary = (fn: Unary, point: (shape: readonly number[]) => Point = spread): readonly GradientSample[] => [
  sample("matrix", of1(fn), point([3, 4])),
  sample("scalar", of1(fn), point([])),
];

export const unaryGradients: GradientRows<OpOf<"unary">> = {
  Abs: unary(abs),
  Neg: unary(neg),
  Sign: STEPS,
  Floor: STEPS,
  Ceil: STEPS,
  Round: STEPS,
  Reciprocal: unary(reciprocal, positive),
  Exp: unary(exp),
  Log: unary(log, positive),
  Sqrt: unary(sqrt, positive),
  Erf: unary(erf),
  Tanh: unary(tanh),
  Sigmoid: unary(sigmoid),
  Relu: [
    ...unary(relu),
    sample("kink", of1(relu), numbers(-1, -0, 0, 2 ** -10, 2)),
    sample(
      "an-infinite-gradient-stays-behind-the-mask",
      of1((x) => sqrt(relu(x))),
      numbers(-1, 0.5, 2, -3),
    ),
  ],
  Softplus: unary(softplus),
  Sin: unary(sin),
  Cos: unary(cos),
  LeakyRelu: unary((x) => leakyRelu(x, 0.2)),
  Elu: unary((x) => elu(x, 0.7)),
  Gelu: [
    ...unary((x) => gelu(x)),
    sample(
      "tanh",
      of1((x) => gelu(x, { approximate: "tanh" })),
      spread([3, 4]),
    ),
  ],
  Clip: [
    ...unary((x) => clip(x, { min: -0.5, max: 0.6 })),
    sample(
      "limits",
      of1((x) => clip(x, { min: -1, max: 1 })),
      numbers(-2, -1, 0, 1, 2),
    ),
  ],
  Not: PREDICATE,
  IsNaN: PREDICATE,
  IsInf: PREDICATE,
  Identity: unary(identity),
  Cast: [
    sample(
      "through-f16",
      of1((x) => cast(cast(x, "f16"), "f32")),
      spread([3, 4]),
    ),
    sample(
      "through-bf16",
      of1((x) => cast(cast(x, "bf16"), "f32")),
      spread([3, 4]),
    ),
  ],
};
