import { tensor } from "../../host/host-tensor.js";
import type { Shape } from "../../shape.js";
import { add, div, greaterOrEqual, mod, mul, sub, where } from "../ops/binary.js";
import { gather } from "../ops/indexing.js";
import { constant } from "../ops/source.js";
import { cast } from "../ops/unary.js";
import type { Tensor } from "../tensor.js";
import { asDraw } from "../trace.js";
import { LEVELS, type Level, type NormalTable, normalTable, PIECES } from "./normal-table.js";
import { type Key, randomBits } from "./random.js";

/**
 * Standard normal numbers, f32, with the same bits on every engine and under every casting policy: a piecewise
 * linear inverse distribution function of random integers. The distribution differs from the normal one by less than
 * 1e-5; no number is beyond ±6.3.
 */
export function randomNormal(source: Key, shape: Shape): Tensor {
  return asDraw(() => inverseAt(source, shape));
}

function inverseAt(source: Key, shape: Shape): Tensor {
  // The top 30 bits are the piece and the position in it, the next bit is the sign.
  const bits = randomBits(source, shape);
  const lowest = mod(bits, 4);
  const integer = mod(div(sub(bits, lowest), 4), 2 ** 30);
  const isNegative = div(lowest, 2);
  const passed = LEVELS.slice(0, -1).map(({ integers }) => greaterOrEqual(integer, PIECES * integers));
  const [first, ...others] = passed.map((isAbove) => cast(isAbove, "i32"));
  const level = others.reduce(add, first as Tensor);
  const [isHighest, highest] = [passed.at(-1) as Tensor, LEVELS.at(-1) as Level];
  const units = where(isHighest, div(integer, highest.integers / highest.places), integer);
  const places = gather(constant(tensor(Int32Array.from(LEVELS, (each) => each.places))), level);
  const piece = div(units, places);
  const place = cast(sub(units, mul(piece, places)), "f32");
  const row = add(piece, mul(level, PIECES));
  const { starts, slopes } = normalTable();
  const atRow = (column: NormalTable["starts"]): Tensor => gather(constant(tensor(column)), row);
  const magnitude = add(atRow(starts), mul(atRow(slopes), place));
  return mul(magnitude, cast(sub(1, mul(isNegative, 2)), "f32"));
}
