// The remainders that core's Mod does not have: of floats by the divisor's sign, of integers by the dividend's.
import { isFloat, type Tensor } from "@mp/graph";
import { add, and, div, equal, greater, mod, mul, not, sub, where, xor } from "@mp/graph/ops";
import type { ReadNode } from "../node/node-reader.js";

/** The remainder of floats with the divisor's sign, as numpy's: from the one with the dividend's sign. */
function ofDivisor(x: Tensor, y: Tensor): Tensor {
  const rest = mod(x, y, { fmod: true });
  const differs = xor(greater(0, rest), greater(0, y));
  return where(and(differs, not(equal(rest, 0))), add(rest, y), rest);
}

/** The remainder with the dividend's sign: integer division rounds toward zero. */
const ofDividend = (x: Tensor, y: Tensor): Tensor => sub(x, mul(div(x, y), y));

export const remainder: ReadNode = (reader) => {
  const [x, y] = [reader.operand(0), reader.operand(1)];
  const fmod = reader.int("fmod", 0) !== 0;
  if (isFloat(x.dtype) && !fmod) return reader.compose([x, y], ofDivisor);
  if (x.dtype === "u64" || (fmod && !isFloat(x.dtype))) return reader.compose([x, y], ofDividend);
  return [reader.emitOne("Mod", [x, y], { fmod })];
};
