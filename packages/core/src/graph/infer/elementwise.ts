import { DTYPES, type DType, isFloat } from "../../dtype.js";
import { broadcastShapes } from "../../shape.js";
import type { Op } from "../attributes.js";
import type { ValueType } from "../graph.js";
import {
  argumentError,
  expectCount,
  expectDType,
  expectSameDType,
  FLOATS,
  type InferTable,
  NUMBERS,
  operand,
  SIGNED,
} from "./rule.js";

type Rule = (inputs: readonly ValueType[]) => readonly ValueType[];

function unary(op: Op, allowed: readonly DType[], result?: DType): Rule {
  return (inputs) => {
    expectCount(op, inputs, 1);
    const x = operand(op, inputs, 0);
    expectDType(op, x, allowed);
    return [{ dtype: result ?? x.dtype, shape: x.shape }];
  };
}

function binary(op: Op, allowed: readonly DType[], result?: DType): Rule {
  return (inputs) => {
    expectCount(op, inputs, 2);
    const a = operand(op, inputs, 0);
    const b = operand(op, inputs, 1);
    expectDType(op, a, allowed);
    expectSameDType(op, inputs);
    return [{ dtype: result ?? a.dtype, shape: broadcastShapes(a.shape, b.shape, op) }];
  };
}

export type ElementwiseOp =
  | "Abs" | "Neg" | "Sign" | "Floor" | "Ceil" | "Round" | "Reciprocal" | "Exp" | "Log" | "Sqrt" | "Erf" | "Tanh"
  | "Sigmoid" | "Relu" | "Softplus" | "Sin" | "Cos" | "LeakyRelu" | "Elu" | "Gelu" | "Clip" | "Not" | "IsNaN"
  | "IsInf" | "Identity" | "Cast" | "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Mod" | "Min" | "Max" | "Equal"
  | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or" | "Xor" | "Where"; // biome-ignore format: one list

const BOOL: readonly DType[] = ["bool"];

export const elementwiseInfer: InferTable<ElementwiseOp> = {
  Abs: unary("Abs", SIGNED),
  Neg: unary("Neg", SIGNED),
  Sign: unary("Sign", SIGNED),
  Floor: unary("Floor", FLOATS),
  Ceil: unary("Ceil", FLOATS),
  Round: unary("Round", FLOATS),
  Reciprocal: unary("Reciprocal", FLOATS),
  Exp: unary("Exp", FLOATS),
  Log: unary("Log", FLOATS),
  Sqrt: unary("Sqrt", FLOATS),
  Erf: unary("Erf", FLOATS),
  Tanh: unary("Tanh", FLOATS),
  Sigmoid: unary("Sigmoid", FLOATS),
  Relu: unary("Relu", FLOATS),
  Softplus: unary("Softplus", FLOATS),
  Sin: unary("Sin", FLOATS),
  Cos: unary("Cos", FLOATS),
  LeakyRelu: unary("LeakyRelu", FLOATS),
  Elu: unary("Elu", FLOATS),
  Gelu: unary("Gelu", FLOATS),
  Clip: (inputs, { min, max }) => {
    if (min !== undefined && max !== undefined && min > max)
      throw argumentError("Clip", `min ${min} is above max ${max}`);
    return unary("Clip", NUMBERS)(inputs);
  },
  Not: unary("Not", BOOL),
  IsNaN: unary("IsNaN", FLOATS, "bool"),
  IsInf: unary("IsInf", FLOATS, "bool"),
  Identity: unary("Identity", DTYPES),
  Cast: (inputs, { to }) => {
    expectCount("Cast", inputs, 1);
    const x = operand("Cast", inputs, 0);
    const storageOnly = (dtype: DType): boolean => dtype === "f8e4m3" || dtype === "f8e5m2";
    if ((storageOnly(x.dtype) && !isFloat(to)) || (storageOnly(to) && !isFloat(x.dtype))) {
      throw argumentError("Cast", `${x.dtype} to ${to}: the f8 dtypes convert from and to floats only`);
    }
    return [{ dtype: to, shape: x.shape }];
  },
  Add: binary("Add", NUMBERS),
  Sub: binary("Sub", NUMBERS),
  Mul: binary("Mul", NUMBERS),
  Div: binary("Div", NUMBERS),
  Pow: binary("Pow", FLOATS),
  Mod: (inputs, { fmod }) => binary("Mod", fmod ? FLOATS : ["i32", "i64", "u8"])(inputs),
  Min: binary("Min", NUMBERS),
  Max: binary("Max", NUMBERS),
  Equal: binary("Equal", [...NUMBERS, "bool"], "bool"),
  Greater: binary("Greater", NUMBERS, "bool"),
  GreaterOrEqual: binary("GreaterOrEqual", NUMBERS, "bool"),
  Less: binary("Less", NUMBERS, "bool"),
  LessOrEqual: binary("LessOrEqual", NUMBERS, "bool"),
  And: binary("And", BOOL, "bool"),
  Or: binary("Or", BOOL, "bool"),
  Xor: binary("Xor", BOOL, "bool"),
  Where: (inputs) => {
    expectCount("Where", inputs, 3);
    const condition = operand("Where", inputs, 0);
    const x = operand("Where", inputs, 1);
    const y = operand("Where", inputs, 2);
    expectDType("Where", condition, BOOL, "condition");
    expectSameDType("Where", [x, y]);
    return [
      {
        dtype: x.dtype,
        shape: broadcastShapes(condition.shape, broadcastShapes(x.shape, y.shape, "Where"), "Where"),
      },
    ];
  },
};
