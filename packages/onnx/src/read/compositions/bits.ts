// ONNX's operators for the bits of integers, by arithmetic: engines that have no bit operators run it too.
import type { DType, Tensor } from "@mp/core";
import { tensor } from "@mp/core";
import {
  abs,
  add,
  and,
  cast,
  clip,
  constant,
  div,
  gather,
  greater,
  greaterOrEqual,
  less,
  literal,
  maximum,
  mod,
  mul,
  reduceSum,
  reshape,
  sub,
  where,
} from "@mp/core/ops";
import { quote } from "../../problem.js";
import type { ReadNode } from "../node/node-reader.js";
import { traced } from "../node/traced.js";

type Integer = "i32" | "i64" | "u64" | "u8";

const WIDTHS: Readonly<Record<Integer, number>> = { i32: 32, i64: 64, u64: 64, u8: 8 };
const HALF = 32;
const HALF_SIZE = 2 ** HALF;

const isInteger = (dtype: DType): dtype is Integer => Object.hasOwn(WIDTHS, dtype);

/** 1, 2, 4, … as a vector; the last one of a signed type is its smallest number. */
function powers(dtype: Integer, count: number): Tensor {
  const values = Array.from({ length: count }, (_, bit) => 1n << BigInt(bit));
  if (dtype === "i64") return constant(tensor(BigInt64Array.from(values), [count], dtype));
  if (dtype === "u64") return constant(tensor(BigUint64Array.from(values), [count], dtype));
  const numbers = values.map((value) => Number(dtype === "i32" ? BigInt.asIntN(32, value) : value));
  return constant(
    tensor(dtype === "i32" ? Int32Array.from(numbers) : Uint8Array.from(numbers), [count], dtype),
  );
}

/** The bits as numbers of at most 32 bits without sign, in i64, the lower ones first. */
function partsOf(x: Tensor): readonly Tensor[] {
  if (x.dtype === "u64") {
    const high = div(x, HALF_SIZE);
    return [sub(x, mul(high, HALF_SIZE)), high].map((part) => cast(part, "i64"));
  }
  const wide = cast(x, "i64");
  const low = mod(wide, HALF_SIZE);
  return x.dtype === "i64" ? [low, mod(div(sub(wide, low), HALF_SIZE), HALF_SIZE)] : [low];
}

/** The number of these parts. */
function fromParts(parts: readonly Tensor[], dtype: Integer): Tensor {
  const [low, high] = parts as readonly [Tensor, Tensor?];
  const signed = (part: Tensor): Tensor =>
    where(greaterOrEqual(part, HALF_SIZE / 2), sub(part, HALF_SIZE), part);
  if (high === undefined) return cast(dtype === "i32" ? signed(low) : low, dtype);
  if (dtype === "i64") return add(mul(signed(high), HALF_SIZE), low);
  return add(mul(cast(high, dtype), HALF_SIZE), cast(low, dtype));
}

const bitsOf = (part: Tensor): Tensor => mod(div(reshape(part, [...part.shape, 1]), powers("i64", HALF)), 2);

const fromBits = (bits: Tensor): Tensor => reduceSum(mul(bits, powers("i64", HALF)), { axes: [-1] });

/** A function of each two bits, which are 0 or 1. */
const bitwise =
  (fn: (a: Tensor, b: Tensor) => Tensor): ReadNode =>
  (reader) => {
    const [a, b] = [reader.operand(0), reader.operand(1)];
    const { dtype } = a;
    if (!isInteger(dtype)) return reader.unsupported(`is of ${dtype}, here it is of integers`);
    return [
      traced(reader, [a, b], (x, y) => {
        const others = partsOf(y);
        const parts = partsOf(x).map((part, index) =>
          fromBits(fn(bitsOf(part), bitsOf(others[index] as Tensor))),
        );
        return fromParts(parts, dtype);
      }),
    ];
  };

/** All bits set: what is taken from it is flipped. */
function allBits(dtype: Integer): Tensor | number {
  if (dtype === "u64") return constant(tensor(BigUint64Array.of(2n ** 64n - 1n), [], dtype));
  return dtype === "u8" ? 255 : -1;
}

/** A shift by less than 0 or by the width and more leaves nothing of the bits but, to the right, the sign. */
function shifted(x: Tensor, by: Tensor, dtype: Integer, isLeft: boolean): Tensor {
  const width = WIDTHS[dtype];
  const isSigned = dtype === "i32" || dtype === "i64";
  // The largest power of a signed type is below 0; a right shift by its width less 1 leaves the sign alone.
  const end = isSigned && !isLeft ? width - 1 : width;
  const isWithin = isSigned ? and(greaterOrEqual(by, 0), less(by, end)) : less(by, end);
  const power = gather(powers(dtype, width), cast(clip(by, { min: 0, max: end - 1 }), "i32"));
  if (isLeft) return where(isWithin, mul(x, power), 0);
  if (!isSigned) return where(isWithin, div(x, power), 0);
  return where(isWithin, div(sub(x, mod(x, power)), power), where(greater(0, x), literal(-1, dtype), 0));
}

export const bitReaders: ReadonlyMap<string, ReadNode> = new Map<string, ReadNode>([
  ["BitwiseAnd", bitwise(mul)],
  ["BitwiseOr", bitwise(maximum)],
  ["BitwiseXor", bitwise((a, b) => abs(sub(a, b)))],
  [
    "BitwiseNot",
    (reader) => {
      const x = reader.operand(0);
      const { dtype } = x;
      if (!isInteger(dtype)) return reader.unsupported(`is of ${dtype}, here it is of integers`);
      return [traced(reader, [x], (given) => sub(allBits(dtype), given))];
    },
  ],
  [
    "BitShift",
    (reader) => {
      const [x, by] = [reader.operand(0), reader.operand(1)];
      const direction = reader.string("direction", "");
      const { dtype } = x;
      if (!isInteger(dtype)) return reader.unsupported(`is of ${dtype}, here it is of integers`);
      if (direction !== "LEFT" && direction !== "RIGHT")
        return reader.unsupported(`shifts to ${quote(direction)}`);
      return [traced(reader, [x, by], (a, b) => shifted(a, b, dtype, direction === "LEFT"))];
    },
  ],
]);
