import { type GradientCase, type Point, pointOf, positivePoint } from "../../../test/finite-differences.js";
import { testGradients } from "../../../test/gradient-tests.js";
import type { Op } from "../../graph/attributes.js";
import * as unaryOps from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import { unaryGradients } from "./unary.js";

const unary = (
  op: Op,
  fn: (x: Tensor) => Tensor,
  make: (shape: readonly number[]) => Point = pointOf,
): readonly GradientCase[] => [[2, 3], [], [0, 3]].map((shape) => ({ op, fn, points: [make(shape)] }));

const cases: readonly GradientCase[] = [
  ...unary("Abs", unaryOps.abs),
  ...unary("Neg", unaryOps.neg),
  ...unary("Reciprocal", unaryOps.reciprocal, positivePoint),
  ...unary("Exp", unaryOps.exp),
  ...unary("Log", unaryOps.log, positivePoint),
  ...unary("Sqrt", unaryOps.sqrt, positivePoint),
  ...unary("Erf", unaryOps.erf),
  ...unary("Tanh", unaryOps.tanh),
  ...unary("Sigmoid", unaryOps.sigmoid),
  ...unary("Relu", unaryOps.relu),
  ...unary("Softplus", unaryOps.softplus),
  ...unary("Sin", unaryOps.sin),
  ...unary("Cos", unaryOps.cos),
  ...unary("LeakyRelu", (x) => unaryOps.leakyRelu(x, 0.2)),
  ...unary("LeakyRelu", (x) => unaryOps.leakyRelu(x, -0.2)),
  ...unary("Elu", (x) => unaryOps.elu(x, 0.7)),
  ...unary("Elu", (x) => unaryOps.elu(x, -0.7)),
  ...unary("Gelu", (x) => unaryOps.gelu(x)),
  ...unary("Gelu", (x) => unaryOps.gelu(x, { approximate: "tanh" })),
  ...unary("Clip", (x) => unaryOps.clip(x, { min: -0.5, max: 0.6 })),
  ...unary("Clip", (x) => unaryOps.clip(x, { min: -0.5 })),
  ...unary("Clip", (x) => unaryOps.clip(x, { max: 0.6 })),
  ...unary("Clip", (x) => unaryOps.clip(x, {})),
  ...unary("Identity", unaryOps.identity),
  ...unary("Cast", (x) => unaryOps.cast(unaryOps.cast(x, "f16"), "f32")),
  ...unary("Cast", (x) => unaryOps.cast(unaryOps.cast(x, "f8e4m3"), "f32")),
];

testGradients(unaryGradients, cases);
