import { broadcastShapes } from "../../shape.js";
import type { Op } from "../attributes.js";
import { FAMILIES, type OpOf, rowsOf } from "../families.js";
import type { ValueType } from "../graph.js";
import { FLOATS, opTable } from "../op-table.js";
import { expectDType, expectSameDType, firstOperand, type InferTable, operands } from "./rule.js";

type Rule = (inputs: readonly ValueType[]) => readonly ValueType[];

function binary(op: Op): Rule {
  return (inputs) => {
    const [a, b] = operands(op, inputs, 2);
    expectDType(op, a);
    expectSameDType(op, inputs);
    return [{ dtype: opTable[op].result ?? a.dtype, shape: broadcastShapes(a.shape, b.shape, op) }];
  };
}

export const binaryInfer: InferTable<OpOf<"binary">> = {
  ...rowsOf(FAMILIES.binary, binary),
  Mod: (inputs, { fmod }) => {
    const types = binary("Mod")(inputs);
    expectDType("Mod", firstOperand("Mod", inputs), fmod ? FLOATS : ["i32", "i64", "u8"]);
    return types;
  },
  Where: (inputs) => {
    const [condition, x, y] = operands("Where", inputs, 3);
    expectDType("Where", condition, ["bool"], "condition");
    expectSameDType("Where", [x, y]);
    return [
      {
        dtype: x.dtype,
        shape: broadcastShapes(condition.shape, broadcastShapes(x.shape, y.shape, "Where"), "Where"),
      },
    ];
  },
};
