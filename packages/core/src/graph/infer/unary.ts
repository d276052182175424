import { type DType, isFloat } from "../../dtype.js";
import type { Op } from "../attributes.js";
import type { OpOf } from "../families.js";
import type { ValueType } from "../graph.js";
import { argumentError, expectCount, expectDType, type InferTable, operand } from "./rule.js";

type Rule = (inputs: readonly ValueType[]) => readonly ValueType[];

function unary(op: Op, result?: DType): Rule {
  return (inputs) => {
    expectCount(op, inputs, 1);
    const x = operand(op, inputs, 0);
    expectDType(op, x);
    return [{ dtype: result ?? x.dtype, shape: x.shape }];
  };
}

export const unaryInfer: InferTable<OpOf<"unary">> = {
  Abs: unary("Abs"),
  Neg: unary("Neg"),
  Sign: unary("Sign"),
  Floor: unary("Floor"),
  Ceil: unary("Ceil"),
  Round: unary("Round"),
  Reciprocal: unary("Reciprocal"),
  Exp: unary("Exp"),
  Log: unary("Log"),
  Sqrt: unary("Sqrt"),
  Erf: unary("Erf"),
  Tanh: unary("Tanh"),
  Sigmoid: unary("Sigmoid"),
  Relu: unary("Relu"),
  Softplus: unary("Softplus"),
  Sin: unary("Sin"),
  Cos: unary("Cos"),
  LeakyRelu: unary("LeakyRelu"),
  Elu: unary("Elu"),
  Gelu: unary("Gelu"),
  Clip: (inputs, { min, max }) => {
    if (min !== undefined && max !== undefined && min > max)
      throw argumentError("Clip", `min ${min} is above max ${max}`);
    return unary("Clip")(inputs);
  },
  Not: unary("Not"),
  IsNaN: unary("IsNaN", "bool"),
  IsInf: unary("IsInf", "bool"),
  Identity: unary("Identity"),
  Cast: (inputs, { to }) => {
    expectCount("Cast", inputs, 1);
    const x = operand("Cast", inputs, 0);
    const storageOnly = (dtype: DType): boolean => dtype === "f8e4m3" || dtype === "f8e5m2";
    if ((storageOnly(x.dtype) && !isFloat(to)) || (storageOnly(to) && !isFloat(x.dtype))) {
      throw argumentError("Cast", `${x.dtype} to ${to}: the f8 dtypes convert from and to floats only`);
    }
    return [{ dtype: to, shape: x.shape }];
  },
};
