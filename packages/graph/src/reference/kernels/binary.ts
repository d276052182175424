// Ops on two operands that broadcast. A rule defines the op on numbers, on i32 and u8 if it differs there, and on
// 64-bit integers; results wrap to the dtype when they are stored.

import { isFloat } from "../../dtype.js";
import { MpError } from "../../errors.js";
import type { OpOf } from "../../graph/families.js";
import { greatestBig, leastBig } from "../elements/big-integers.js";
import { outputType, type ReferenceKernel, type ReferenceTable } from "../elements/kernel.js";
import { type BigStore, isBig, type NumberStore, operand, readElements } from "../elements/store.js";
import { broadcastStrides, countElements, forEachRun } from "../elements/strided.js";
import { type ArithmeticLoop, addLoop, divLoop, mulLoop, subLoop } from "./arithmetic-loops.js";

interface BinaryRule {
  readonly number: (a: number, b: number) => number;
  /** The function for i32 and u8; default `number`. */
  readonly integer?: (a: number, b: number) => number;
  readonly big?: (a: bigint, b: bigint) => bigint;
  /** A specialized loop for `number`, for the ops that take most of the training time. */
  readonly floatLoop?: ArithmeticLoop;
}

type BinaryKernel = ReferenceKernel<"Add">;

function binary(rule: BinaryRule): BinaryKernel {
  return (inputs, _, outputs, arithmetic) => {
    const a = operand(inputs, 0);
    const b = operand(inputs, 1);
    const { dtype, shape } = outputType(outputs);
    const strides = [broadcastStrides(a.shape, shape), broadcastStrides(b.shape, shape)];
    const out = arithmetic.allocate(dtype, countElements(shape));
    if (isBig(a.data)) {
      const { big } = rule;
      if (big === undefined) throw new Error(`internal: no 64-bit form for ${a.dtype}`);
      bigRuns(big, a.data, b.data as BigStore, out as BigStore, shape, strides);
    } else {
      const float = isFloat(a.dtype);
      const loop = float ? rule.floatLoop : undefined;
      const f = float ? rule.number : (rule.integer ?? rule.number);
      const x = a.data;
      const y = b.data as NumberStore;
      forEachRun(shape, strides, ([i = 0, j = 0], [di = 0, dj = 0], length, at) => {
        if (loop === undefined) callLoop(f, x, i, di, y, j, dj, out as NumberStore, at, length);
        else loop(x, i, di, y, j, dj, out as NumberStore, at, length);
      });
    }
    return [arithmetic.round(dtype, out)];
  };
}

function callLoop(
  f: (a: number, b: number) => number,
  x: NumberStore,
  i: number,
  di: number,
  y: NumberStore,
  j: number,
  dj: number,
  out: NumberStore,
  at: number,
  length: number,
): void {
  let p = i;
  let q = j;
  for (let k = at; k < at + length; k++, p += di, q += dj) out[k] = f(x[p] as number, y[q] as number);
}

function bigRuns(
  f: (a: bigint, b: bigint) => bigint,
  x: BigStore,
  y: BigStore,
  out: BigStore,
  shape: readonly number[],
  strides: readonly (readonly number[])[],
): void {
  forEachRun(shape, strides, ([i = 0, j = 0], [di = 0, dj = 0], length, at) => {
    for (let k = 0; k < length; k++) out[at + k] = f(x[i + k * di] as bigint, y[j + k * dj] as bigint);
  });
}

type Comparable = number | bigint;

/** A comparison with a bool result; any comparison with NaN is false. */
function compare(holds: (a: Comparable, b: Comparable) => boolean): BinaryKernel {
  return (inputs, _, outputs) => {
    const a = operand(inputs, 0);
    const b = operand(inputs, 1);
    const { shape } = outputType(outputs);
    const out = new Uint8Array(countElements(shape));
    const strides = [broadcastStrides(a.shape, shape), broadcastStrides(b.shape, shape)];
    forEachRun(shape, strides, ([i = 0, j = 0], [di = 0, dj = 0], length, at) => {
      for (let k = 0; k < length; k++) {
        out[at + k] = holds(a.data[i + k * di] as Comparable, b.data[j + k * dj] as Comparable) ? 1 : 0;
      }
    });
    return [out];
  };
}

/** C's and NumPy's pow, which differ from JavaScript's: 1 to any power is 1, and so is (-1) to ±infinity. */
function pow(x: number, y: number): number {
  if (x === 1 || (x === -1 && Math.abs(y) === Number.POSITIVE_INFINITY)) return 1;
  return x ** y;
}

function nonZero<T extends Comparable>(divisor: T, op: "Div" | "Mod"): T {
  if (divisor === 0 || divisor === 0n) {
    throw new MpError("MP_OUT_OF_RANGE", `${op}: an integer divisor is 0`);
  }
  return divisor;
}

const floorMod: BinaryRule = {
  number: (a, b) => {
    const rest = a % nonZero(b, "Mod");
    return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
  },
  big: (a, b) => {
    const rest = a % nonZero(b, "Mod");
    return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
  },
};

const modByDividend: BinaryKernel = binary({ number: (a, b) => a % b });
const modByDivisor: BinaryKernel = binary(floorMod);

/** A selection, not arithmetic: NaN and infinity in the operand not selected have no effect. */
const whereKernel: ReferenceKernel<"Where"> = (inputs, _, outputs, arithmetic) => {
  const { dtype, shape } = outputType(outputs);
  const condition = operand(inputs, 0).data;
  const x = readElements(operand(inputs, 1).data);
  const y = readElements(operand(inputs, 2).data);
  const out = arithmetic.allocate(dtype, countElements(shape));
  const to = readElements(out);
  const strides = inputs.map((input) => broadcastStrides(input.shape, shape));
  forEachRun(shape, strides, ([c = 0, i = 0, j = 0], [dc = 0, di = 0, dj = 0], length, at) => {
    for (let k = 0; k < length; k++) {
      to[at + k] = (condition[c + k * dc] !== 0 ? x[i + k * di] : y[j + k * dj]) as number;
    }
  });
  return [out];
};

export const binaryKernels: ReferenceTable<OpOf<"binary">> = {
  Add: binary({ number: (a, b) => a + b, big: (a, b) => a + b, floatLoop: addLoop }),
  Sub: binary({ number: (a, b) => a - b, big: (a, b) => a - b, floatLoop: subLoop }),
  Mul: binary({ number: (a, b) => a * b, integer: Math.imul, big: (a, b) => a * b, floatLoop: mulLoop }),
  /** Integers truncate toward zero. Division of an integer by 0 is an error; engines differ there, or crash. */
  Div: binary({
    number: (a, b) => a / b,
    integer: (a, b) => Math.trunc(a / nonZero(b, "Div")),
    big: (a, b) => a / nonZero(b, "Div"),
    floatLoop: divLoop,
  }),
  Pow: binary({ number: pow }),
  Mod: (inputs, attributes, ...rest) =>
    (attributes.fmod ? modByDividend : modByDivisor)(inputs, attributes, ...rest),
  /** NaN in either operand propagates. */
  Min: binary({ number: Math.min, big: leastBig }),
  Max: binary({ number: Math.max, big: greatestBig }),
  Equal: compare((a, b) => a === b),
  Greater: compare((a, b) => a > b),
  GreaterOrEqual: compare((a, b) => a >= b),
  Less: compare((a, b) => a < b),
  LessOrEqual: compare((a, b) => a <= b),
  And: binary({ number: (a, b) => a & b }),
  Or: binary({ number: (a, b) => a | b }),
  Xor: binary({ number: (a, b) => a ^ b }),
  Where: whereKernel,
};
