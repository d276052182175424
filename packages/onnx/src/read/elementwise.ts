import type { DType } from "@mp/core";
import { isFloat } from "@mp/core/graph";
import { elementTypeOfCode, isDType } from "../element-type.js";
import { quote } from "../problem.js";
import type { NodeReader, NodeResult, ReaderTable, ReadNode } from "./node-reader.js";
import { scalarOperand } from "./scalar-operand.js";

type Unattributed =
  | "Abs" | "Neg" | "Sign" | "Floor" | "Ceil" | "Round" | "Reciprocal" | "Exp" | "Log" | "Sqrt" | "Erf" | "Tanh"
  | "Sigmoid" | "Relu" | "Softplus" | "Sin" | "Cos" | "Not" | "IsNaN" | "Identity" | "Add" | "Sub" | "Mul" | "Div"
  | "Pow" | "Min" | "Max" | "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or" | "Xor"
  | "Where" | "MatMul"; // biome-ignore format: one list

/** The op of the same name on the same operands. */
function same(op: Unattributed, operands: number): ReadNode {
  return (reader) => [
    reader.emitOne(
      op,
      Array.from({ length: operands }, (_, index) => reader.operand(index)),
      {},
    ),
  ];
}

/** ONNX takes any number of operands, the graph two. */
function folded(op: "Min" | "Max" | "Add"): ReadNode {
  return (reader) => [foldOperands(reader, op)];
}

/** All operands joined by a binary op, from the left. */
export function foldOperands(
  reader: NodeReader,
  op: "Min" | "Max" | "Add",
): ReturnType<NodeReader["operand"]> {
  let value = reader.operand(0);
  if (reader.operandCount === 1) return reader.emitOne("Identity", [value], {});
  for (let index = 1; index < reader.operandCount; index++) {
    value = reader.emitOne(op, [value, reader.operand(index)], {});
  }
  return value;
}

/** The largest integers, which exporters write where there is no bound, and which no number is. */
const noBound: Partial<Record<DType, bigint>> = { i64: 2n ** 63n - 1n, u64: 2n ** 64n - 1n };

function upperBound(reader: NodeReader): number | undefined {
  const { dtype, data } = reader.constant(2) ?? {};
  const isNone = dtype !== undefined && data?.length === 1 && data[0] === noBound[dtype];
  return isNone ? undefined : scalarOperand(reader, 2, "the upper bound");
}

/** The dtype that an attribute names by ONNX's number. */
function dtypeOfCode(reader: NodeReader, code: number): DType {
  const type = elementTypeOfCode(code);
  if (type === undefined || !isDType(type))
    return reader.unsupported(`makes ${type ?? `element type ${code}`}`);
  return type;
}

export function castTo(reader: NodeReader, to: DType): readonly NodeResult[] {
  const isEighth = to === "f8e4m3" || to === "f8e5m2";
  if (reader.int("saturate", 1) !== 0 && isEighth && isFloat(reader.typeOf(0).dtype)) {
    return reader.unsupported("saturates, which casts here do not");
  }
  if (!reader.isVerbatim) {
    // Indices: what the graph has as i32 all along needs neither cast.
    const narrow = reader.narrow(0);
    if (to === "i32" && narrow !== undefined) return [narrow];
    if (to === "i64" && reader.typeOf(0).dtype === "i32") return [{ narrow: reader.operand(0) }];
  }
  return [reader.emitOne("Cast", [reader.operand(0)], { to })];
}

export const elementwiseReaders: ReaderTable<
  Unattributed | "LeakyRelu" | "Elu" | "Gelu" | "Clip" | "IsInf" | "Cast" | "Mod" | "Gemm"
> = {
  Abs: same("Abs", 1),
  Neg: same("Neg", 1),
  Sign: same("Sign", 1),
  Floor: same("Floor", 1),
  Ceil: same("Ceil", 1),
  Round: same("Round", 1),
  Reciprocal: same("Reciprocal", 1),
  Exp: same("Exp", 1),
  Log: same("Log", 1),
  Sqrt: same("Sqrt", 1),
  Erf: same("Erf", 1),
  Tanh: same("Tanh", 1),
  Sigmoid: same("Sigmoid", 1),
  Relu: same("Relu", 1),
  Softplus: same("Softplus", 1),
  Sin: same("Sin", 1),
  Cos: same("Cos", 1),
  Not: same("Not", 1),
  IsNaN: same("IsNaN", 1),
  Identity: same("Identity", 1),
  Add: same("Add", 2),
  Sub: same("Sub", 2),
  Mul: same("Mul", 2),
  Div: same("Div", 2),
  Pow: same("Pow", 2),
  Min: folded("Min"),
  Max: folded("Max"),
  Equal: same("Equal", 2),
  Greater: same("Greater", 2),
  GreaterOrEqual: same("GreaterOrEqual", 2),
  Less: same("Less", 2),
  LessOrEqual: same("LessOrEqual", 2),
  And: same("And", 2),
  Or: same("Or", 2),
  Xor: same("Xor", 2),
  Where: same("Where", 3),
  MatMul: same("MatMul", 2),
  IsInf: (reader) => {
    if (reader.int("detect_negative", 1) !== 1 || reader.int("detect_positive", 1) !== 1) {
      return reader.unsupported("looks for one of the infinities only");
    }
    return [reader.emitOne("IsInf", [reader.operand(0)], {})];
  },
  LeakyRelu: (reader) => [
    reader.emitOne("LeakyRelu", [reader.operand(0)], { alpha: reader.float("alpha", 0.01) }),
  ],
  Elu: (reader) => [reader.emitOne("Elu", [reader.operand(0)], { alpha: reader.float("alpha", 1) })],
  Gelu: (reader) => {
    const approximate = reader.string("approximate", "none");
    if (approximate !== "none" && approximate !== "tanh")
      return reader.unsupported(`approximates by ${quote(approximate)}`);
    return [reader.emitOne("Gelu", [reader.operand(0)], { approximate })];
  },
  Clip: (reader) => {
    const min = scalarOperand(reader, 1, "the lower bound");
    const max = upperBound(reader);
    return [
      reader.emitOne("Clip", [reader.operand(0)], {
        ...(min === undefined ? {} : { min }),
        ...(max === undefined ? {} : { max }),
      }),
    ];
  },
  Cast: (reader) => castTo(reader, dtypeOfCode(reader, reader.int("to"))),
  Mod: (reader) => [
    reader.emitOne("Mod", [reader.operand(0), reader.operand(1)], { fmod: reader.int("fmod", 0) !== 0 }),
  ],
  Gemm: (reader) => {
    const c = reader.optional(2);
    return [
      reader.emitOne("Gemm", [reader.operand(0), reader.operand(1), ...(c === undefined ? [] : [c])], {
        transA: reader.int("transA", 0) !== 0,
        transB: reader.int("transB", 0) !== 0,
        alpha: reader.float("alpha", 1),
        beta: reader.float("beta", 1),
      }),
    ];
  },
};
