// Reductions visit elements in row-major order. Floats of any dtype accumulate in f32 with every partial result
// rounded, and the final result is rounded to the dtype; integers wrap. NaN propagates.

import type { DType } from "../../dtype.js";
import type { ArgOp, OpOf, ReduceOp } from "../../graph/families.js";
import { greatestBig, leastBig } from "../elements/big-integers.js";
import { outputType, type ReferenceKernel, type ReferenceTable } from "../elements/kernel.js";
import {
  type BigStore,
  isBig,
  type NumberStore,
  operand,
  readElements,
  readFloats,
} from "../elements/store.js";
import { countElements, viewOfAxis } from "../elements/strided.js";
import { fold, foldAt, foldBig, foldSum } from "./fold.js";

type Extreme = "least" | "greatest";

/** The limits of the integer dtypes: a maximum starts from `least`, a minimum from `greatest`. */
const numberLimits: Readonly<Partial<Record<DType, Readonly<Record<Extreme, number>>>>> = {
  i32: { least: -(2 ** 31), greatest: 2 ** 31 - 1 },
  u8: { least: 0, greatest: 255 },
};
const bigLimits: Readonly<Partial<Record<DType, Readonly<Record<Extreme, bigint>>>>> = {
  i64: { least: -(2n ** 63n), greatest: 2n ** 63n - 1n },
  u64: { least: 0n, greatest: 2n ** 64n - 1n },
};

interface FoldRule {
  /** The result for no elements; an `Extreme` stands for the dtype's limit. */
  readonly start: number | Extreme;
  readonly step: (sum: number, x: number) => number;
  readonly integer?: (sum: number, x: number) => number;
  readonly big?: (sum: bigint, x: bigint) => bigint;
  /** Applied to each sum; `count` is the number of summed elements. */
  readonly finish?: (sum: number, count: number) => number;
}
type ReduceKernel = ReferenceKernel<ReduceOp>;

const add = (sum: number, x: number): number => sum + x;

function initialValue(start: number | Extreme, dtype: DType): number {
  if (typeof start === "number") return start;
  return (
    numberLimits[dtype]?.[start] ?? (start === "least" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY)
  );
}

function reduce(rule: FoldRule): ReduceKernel {
  return (inputs, { axes }, outputs, arithmetic) => {
    const x = operand(inputs, 0);
    const { dtype, shape } = outputType(outputs);
    const out = arithmetic.allocate(dtype, countElements(shape));
    if (isBig(x.data)) {
      const { start, big } = rule;
      if (big === undefined) throw new Error(`internal: no 64-bit form for ${dtype}`);
      const first = typeof start === "number" ? BigInt(start) : (bigLimits[dtype]?.[start] as bigint);
      (out as BigStore).fill(first);
      foldBig(x.data, x.shape, axes, out as BigStore, big);
      return [out];
    }
    const sums = out as NumberStore;
    sums.fill(initialValue(rule.start, dtype));
    const isInteger = dtype === "i32" || dtype === "u8";
    const step = isInteger ? (rule.integer ?? rule.step) : rule.step;
    if (step === add) foldSum(x.data, x.shape, axes, sums);
    else fold(x.data, x.shape, axes, sums, step);
    const { finish } = rule;
    if (finish !== undefined) {
      const count = countElements(axes.map((axis) => x.shape[axis] as number));
      for (let position = 0; position < sums.length; position++)
        sums[position] = finish(sums[position] as number, count);
    }
    return [arithmetic.round(dtype, out)];
  };
}

/** log Σ exp(x), computed relative to the maximum if that is finite, so that no intermediate overflows. */
const logSumExp: ReferenceKernel<"ReduceLogSumExp"> = (inputs, { axes }, outputs, arithmetic) => {
  const x = operand(inputs, 0);
  const { dtype, shape } = outputType(outputs);
  const most = arithmetic.floats(countElements(shape)).fill(Number.NEGATIVE_INFINITY);
  fold(readFloats(x), x.shape, axes, most, Math.max);
  for (let position = 0; position < most.length; position++) {
    if (!Number.isFinite(most[position])) most[position] = 0;
  }
  const sums = arithmetic.floats(most.length);
  foldAt(
    readFloats(x),
    x.shape,
    axes,
    sums,
    (sum, value, position) => sum + Math.exp(value - (most[position] as number)),
  );
  for (let position = 0; position < sums.length; position++) {
    sums[position] = (most[position] as number) + Math.log(sums[position] as number);
  }
  return [arithmetic.round(dtype, sums)];
};

// Searches along one axis. NaN counts as larger than every number; of equal elements the first wins.

type Comparable = number | bigint;

function isNan(x: Comparable): boolean {
  return typeof x === "number" && Number.isNaN(x);
}

/** True if `x` replaces `best`; false if either is NaN. `argKernel` handles NaN itself: the first NaN wins. */
type Better = (x: Comparable, best: Comparable) => boolean;

function argKernel<K extends ArgOp>(better: Better): ReferenceKernel<K> {
  return (inputs, attributes) => {
    const x = operand(inputs, 0);
    const { outer, size, inner } = viewOfAxis(x.shape, attributes.axis);
    const out = new Int32Array(outer * inner);
    for (let block = 0; block < outer; block++) {
      for (let column = 0; column < inner; column++) {
        const start = block * size * inner + column;
        let winner = 0;
        for (let k = 1; k < size; k++) {
          const value = x.data[start + k * inner] as Comparable;
          const best = x.data[start + winner * inner] as Comparable;
          if (better(value, best) || (isNan(value) && !isNan(best))) winner = k;
        }
        out[block * inner + column] = winner;
      }
    }
    return [out];
  };
}

/** NaN comes first in a search for the largest, last for the smallest. */
const topK: ReferenceKernel<"TopK"> = (inputs, { axis, k, largest }, outputs, arithmetic) => {
  const x = operand(inputs, 0);
  const { outer, size, inner } = viewOfAxis(x.shape, axis);
  const values = arithmetic.allocate(outputType(outputs).dtype, outer * k * inner);
  const indices = new Int32Array(outer * k * inner);
  const to = readElements(values);
  const ascending = (a: Comparable, b: Comparable): number =>
    isNan(a) || isNan(b) ? Number(isNan(a)) - Number(isNan(b)) : a < b ? -1 : a > b ? 1 : 0;
  for (let block = 0; block < outer; block++) {
    for (let column = 0; column < inner; column++) {
      const at = (index: number): number => (block * size + index) * inner + column;
      const valueAt = (index: number): Comparable => x.data[at(index)] as Comparable;
      // Array sort is stable: equal elements keep the order of their indices in both directions.
      const order = Array.from({ length: size }, (_, index) => index).sort((a, b) =>
        largest ? ascending(valueAt(b), valueAt(a)) : ascending(valueAt(a), valueAt(b)),
      );
      for (let rank = 0; rank < k; rank++) {
        const index = order[rank] as number;
        const position = (block * k + rank) * inner + column;
        to[position] = valueAt(index) as number;
        indices[position] = index;
      }
    }
  }
  return [values, indices];
};

/** Cumulative sums along the axis; f16 and bf16 accumulate in f32, and each sum is rounded separately. */
const cumSum: ReferenceKernel<"CumSum"> = (inputs, { axis, exclusive, reverse }, outputs, arithmetic) => {
  const x = operand(inputs, 0);
  const { dtype, shape } = outputType(outputs);
  const out = arithmetic.allocate(dtype, x.data.length);
  const { outer, size, inner } = viewOfAxis(shape, axis);
  const [from, to] = [readElements(x.data), readElements(out)];
  const zero = (isBig(x.data) ? 0n : 0) as number;
  const step = reverse ? -inner : inner;
  // `out` holds the partial sums themselves, so that they are rounded as they are stored.
  const lag = exclusive ? step : 0;
  for (let block = 0; block < outer; block++) {
    for (let column = 0; column < inner; column++) {
      const start = block * size * inner + column + (reverse ? (size - 1) * inner : 0);
      for (let k = exclusive ? 1 : 0; k < size; k++) {
        const at = start + k * step;
        to[at] = (k === 0 ? zero : (to[at - step] as number)) + (from[at - lag] as number);
      }
    }
  }
  return [arithmetic.round(dtype, out)];
};

export const reduceKernels: ReferenceTable<OpOf<"reduce">> = {
  ReduceSum: reduce({ start: 0, step: add, big: (sum, x) => sum + x }),
  ReduceMean: reduce({ start: 0, step: add, finish: (sum, count) => sum / count }),
  ReduceMax: reduce({ start: "least", step: Math.max, big: greatestBig }),
  ReduceMin: reduce({ start: "greatest", step: Math.min, big: leastBig }),
  ReduceProd: reduce({
    start: 1,
    step: (product, x) => product * x,
    integer: Math.imul,
    big: (product, x) => product * x,
  }),
  ReduceL1: reduce({ start: 0, step: (sum, x) => sum + Math.abs(x) }),
  ReduceL2: reduce({ start: 0, step: (sum, x) => sum + x * x, finish: Math.sqrt }),
  ReduceLogSum: reduce({ start: 0, step: add, finish: Math.log }),
  ReduceLogSumExp: logSumExp,
  ReduceSumSquare: reduce({ start: 0, step: (sum, x) => sum + x * x }),
  ArgMax: argKernel((x, best) => x > best),
  ArgMin: argKernel((x, best) => x < best),
  TopK: topK,
  CumSum: cumSum,
};
