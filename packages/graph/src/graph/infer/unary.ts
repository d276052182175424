import { isEighth, isFloat } from "../../dtype.js";
import type { Op } from "../attributes.js";
import { FAMILIES, type OpOf, rowsOf } from "../families.js";
import type { ValueType } from "../graph.js";
import { opTable } from "../op-table.js";
import { argumentError, expectDType, type InferTable, operands } from "./rule.js";

type Rule = (inputs: readonly ValueType[]) => readonly ValueType[];

function unary(op: Op): Rule {
  return (inputs) => {
    const [x] = operands(op, inputs, 1);
    expectDType(op, x);
    return [{ dtype: opTable[op].result ?? x.dtype, shape: x.shape }];
  };
}

export const unaryInfer: InferTable<OpOf<"unary">> = {
  ...rowsOf(FAMILIES.unary, unary),
  Clip: (inputs, { min, max }) => {
    if (min !== undefined && max !== undefined && min > max)
      throw argumentError("Clip", `min ${min} is above max ${max}`);
    return unary("Clip")(inputs);
  },
  Cast: (inputs, { to }) => {
    const [x] = operands("Cast", inputs, 1);
    if ((isEighth(x.dtype) && !isFloat(to)) || (isEighth(to) && !isFloat(x.dtype))) {
      throw argumentError("Cast", `${x.dtype} to ${to}: the f8 dtypes convert from and to floats only`);
    }
    return [{ dtype: to, shape: x.shape }];
  },
};
