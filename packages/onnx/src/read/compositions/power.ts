// Powers of operands of two dtypes: the result has the dtype of the first.
import { type DType, isFloat, type Tensor } from "@mp/graph";
import { cast, div, equal, literal, mod, mul, pow, where } from "@mp/graph/ops";
import type { ReadNode } from "../node/node-reader.js";

/** Number of exponent bits used. A power above 63 is out of range for all bases but -1, 0 and 1. */
const EXPONENT_BITS = 6;

/** Raises integers to integer exponents ≥ 0 by squaring; results wrap around. */
function integerPower(base: Tensor, exponent: Tensor): Tensor {
  const one = literal(1, base.dtype);
  let [left, square, product] = [exponent, base, one];
  for (let bit = 0; bit < EXPONENT_BITS; bit++) {
    product = mul(product, where(equal(mod(left, 2), 1), square, one));
    left = div(left, 2);
    square = mul(square, square);
  }
  return product;
}

const POWERS: ReadonlySet<DType> = new Set<DType>(["i32", "i64"]);

export const power: ReadNode = (reader) => {
  const [base, exponent] = [reader.operand(0), reader.operand(1)];
  if (base.dtype === exponent.dtype && isFloat(base.dtype))
    return [reader.emitOne("Pow", [base, exponent], {})];
  if (isFloat(base.dtype)) return reader.compose([base, exponent], (x, y) => pow(x, cast(y, x.dtype)));
  if (!POWERS.has(base.dtype) || !POWERS.has(exponent.dtype))
    return reader.unsupported(`raises ${base.dtype} to ${exponent.dtype}, here integers to integers`);
  if (!reader.constant(1)?.data.every((value) => value >= 0 && value < 2 ** EXPONENT_BITS))
    return reader.unsupported(`raises integers to others than 0 to ${2 ** EXPONENT_BITS - 1}`);
  return reader.compose([base, exponent], integerPower);
};
