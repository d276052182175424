// Remainders that the graph's Mod lacks: of floats with the divisor's sign, of integers with the dividend's.
import { isFloat, type Tensor } from "@mp/graph";
import { add, and, div, equal, greater, mod, mul, not, sub, where, xor } from "@mp/graph/ops";
import type { ReadNode } from "../node/node-reader.js";

/** The float remainder with the divisor's sign, as in numpy, from the remainder with the dividend's sign. */
function ofDivisor(x: Tensor, y: Tensor): Tensor {
  const rest = mod(x, y, { fmod: true });
  const differs = xor(greater(0, rest), greater(0, y));
  return where(and(differs, not(equal(rest, 0))), add(rest, y), rest);
}

/** The integer remainder with the dividend's sign, because integer division rounds toward zero. */
const ofDividend = (x: Tensor, y: Tensor): Tensor => sub(x, mul(div(x, y), y));

export const remainder: ReadNode = (reader) => {
  const [x, y] = [reader.operand(0), reader.operand(1)];
  const fmod = reader.int("fmod", 0) !== 0;
  if (isFloat(x.dtype) && !fmod) return reader.compose([x, y], ofDivisor);
  if (x.dtype === "u64" || (fmod && !isFloat(x.dtype))) return reader.compose([x, y], ofDividend);
  return [reader.emitOne("Mod", [x, y], { fmod })];
};
