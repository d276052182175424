import type { DType } from "../../dtype.js";
import { MpError } from "../../errors.js";
import type { Op, ScatterReduction } from "../../graph/attributes.js";
import type { OpOf } from "../../graph/families.js";
import { stridesOf } from "../../shape.js";
import { greatestBig, leastBig } from "../elements/big-integers.js";
import { outputType, type ReferenceTable } from "../elements/kernel.js";
import {
  type BigStore,
  copyStore,
  isBig,
  type NumberStore,
  operand,
  readElements,
  readIndices,
  type Store,
} from "../elements/store.js";
import { countElements, viewOfAxis } from "../elements/strided.js";

/** Turns an index that may count from the end into 0 … size-1. @throws MP_OUT_OF_RANGE naming index and axis */
function resolveIndex(op: Op, index: number, size: number, axis: number): number {
  if (index >= -size && index < size) return index < 0 ? index + size : index;
  throw new MpError(
    "MP_OUT_OF_RANGE",
    `${op}: index ${index} is outside axis ${axis} of ${size}, use ${-size} … ${size - 1}`,
    { details: { op, index, axis, size } },
  );
}

/** The position in `shape` that each element of `indices` selects along the axis, in row-major order of `indices`. */
function elementPositions(
  op: "GatherElements" | "ScatterElements",
  shape: readonly number[],
  indexShape: readonly number[],
  indices: Int32Array,
  axis: number,
): number[] {
  const strides = stridesOf(shape);
  const own = stridesOf(indexShape);
  return Array.from(indices, (index, at) => {
    let position = 0;
    let rest = at;
    for (let k = 0; k < shape.length; k++) {
      const stride = own[k] as number;
      const coordinate = Math.floor(rest / stride);
      rest -= coordinate * stride;
      const along = k === axis ? index : coordinate;
      position += resolveIndex(op, along, shape[k] as number, k) * (strides[k] as number);
    }
    return position;
  });
}

/** The starts of the blocks that rows of `indices` select, and the blocks' length. */
function blockPositions(
  op: "GatherND" | "ScatterND",
  shape: readonly number[],
  indexShape: readonly number[],
  indices: Int32Array,
  batchDims: number,
): { readonly starts: readonly number[]; readonly block: number } {
  const depth = indexShape.at(-1) as number;
  const strides = stridesOf(shape);
  const batchSize = countElements(indexShape.slice(batchDims, -1));
  const batchStride = countElements(shape.slice(batchDims));
  const starts = Array.from({ length: indices.length / depth }, (_, row) => {
    let start = Math.floor(row / batchSize) * batchStride;
    for (let k = 0; k < depth; k++) {
      const axis = batchDims + k;
      const index = resolveIndex(op, indices[row * depth + k] as number, shape[axis] as number, axis);
      start += index * (strides[axis] as number);
    }
    return start;
  });
  return { starts, block: countElements(shape.slice(batchDims + depth)) };
}

type Combine<N> = (old: N, update: N) => N;

const numbers: Readonly<Record<ScatterReduction, Combine<number>>> = {
  none: (_, update) => update,
  add: (old, update) => old + update,
  mul: (old, update) => old * update,
  max: Math.max,
  min: Math.min,
};

const bigs: Readonly<Record<ScatterReduction, Combine<bigint>>> = {
  none: (_, update) => update,
  add: (old, update) => old + update,
  mul: (old, update) => old * update,
  max: greatestBig,
  min: leastBig,
};

function combine(reduction: ScatterReduction, dtype: DType): Combine<number> {
  return reduction === "mul" && (dtype === "i32" || dtype === "u8") ? Math.imul : numbers[reduction];
}

/** Applies `block` consecutive updates from each start on. */
function scatter(
  out: Store,
  starts: readonly number[],
  block: number,
  updates: Store,
  reduction: ScatterReduction,
  dtype: DType,
): void {
  if (isBig(out)) {
    each(out, starts, block, updates as BigStore, bigs[reduction]);
  } else if (reduction === "add" && block > 1) {
    addBlocks(out, starts, block, updates as NumberStore);
  } else {
    each(out, starts, block, updates as NumberStore, combine(reduction, dtype));
  }
}

function each<N extends number | bigint>(
  out: Store,
  starts: readonly number[],
  block: number,
  updates: Store,
  f: Combine<N>,
): void {
  const to = readElements(out) as unknown as N[];
  const from = readElements(updates) as unknown as N[];
  starts.forEach((start, row) => {
    for (let k = 0; k < block; k++) to[start + k] = f(to[start + k] as N, from[row * block + k] as N);
  });
}

function addBlocks(out: NumberStore, starts: readonly number[], block: number, updates: NumberStore): void {
  for (let row = 0; row < starts.length; row++) {
    const start = starts[row] as number;
    for (let k = 0; k < block; k++) {
      out[start + k] = (out[start + k] as number) + (updates[row * block + k] as number);
    }
  }
}

/**
 * Reads never round; a scatter computes only if it accumulates. Updates are applied in row-major order, so the last
 * update wins if the reduction is "none" and an index repeats (undefined in ONNX). Floats accumulate in f32 and are
 * rounded to the dtype after all updates.
 */
export const indexingKernels: ReferenceTable<OpOf<"indexing">> = {
  Gather: (inputs, { axis }, outputs, arithmetic) => {
    const x = operand(inputs, 0);
    const indices = readIndices(operand(inputs, 1));
    const { outer, size, inner } = viewOfAxis(x.shape, axis);
    const out = arithmetic.allocate(x.dtype, countElements(outputType(outputs).shape));
    const from = readElements(x.data);
    const to = readElements(out);
    const rows = Array.from(indices, (index) => resolveIndex("Gather", index, size, axis));
    let position = 0;
    for (let block = 0; block < outer; block++) {
      for (const row of rows) {
        const start = (block * size + row) * inner;
        to.set(from.subarray(start, start + inner), position);
        position += inner;
      }
    }
    return [out];
  },

  /**
   * For axis 1: out[i][j] = x[i][index[i][j]]; likewise for other axes. Off the axis, `indices` may be shorter than
   * x.
   */
  GatherElements: (inputs, { axis }, _, arithmetic) => {
    const x = operand(inputs, 0);
    const indices = operand(inputs, 1);
    const out = arithmetic.allocate(x.dtype, indices.data.length);
    const positions = elementPositions("GatherElements", x.shape, indices.shape, readIndices(indices), axis);
    const from = readElements(x.data);
    const to = readElements(out);
    for (let at = 0; at < to.length; at++) to[at] = from[positions[at] as number] as number;
    return [out];
  },

  GatherND: (inputs, { batchDims }, outputs, arithmetic) => {
    const x = operand(inputs, 0);
    const indices = operand(inputs, 1);
    const out = arithmetic.allocate(x.dtype, countElements(outputType(outputs).shape));
    const { starts, block } = blockPositions(
      "GatherND",
      x.shape,
      indices.shape,
      readIndices(indices),
      batchDims,
    );
    starts.forEach((start, at) => {
      readElements(out).set(readElements(x.data).subarray(start, start + block), at * block);
    });
    return [out];
  },

  OneHot: (inputs, { axis, depth, dtype }, outputs, arithmetic) => {
    const indices = readIndices(operand(inputs, 0));
    const { shape } = outputType(outputs);
    const out = arithmetic.allocate(dtype, countElements(shape));
    const { inner } = viewOfAxis(shape, axis);
    indices.forEach((given, at) => {
      const index = given < 0 ? given + depth : given;
      if (index < 0 || index >= depth) return;
      out[(Math.floor(at / inner) * depth + index) * inner + (at % inner)] = 1;
    });
    return [out];
  },

  ScatterElements: (inputs, { axis, reduction }, outputs, arithmetic) => {
    const x = operand(inputs, 0);
    const indices = operand(inputs, 1);
    const { dtype } = outputType(outputs);
    const positions = elementPositions("ScatterElements", x.shape, indices.shape, readIndices(indices), axis);
    const out = copyStore(x.data);
    scatter(out, positions, 1, operand(inputs, 2).data, reduction, dtype);
    return [arithmetic.round(dtype, out)];
  },
  ScatterND: (inputs, { reduction }, outputs, arithmetic) => {
    const x = operand(inputs, 0);
    const indices = operand(inputs, 1);
    const { dtype } = outputType(outputs);
    const { starts, block } = blockPositions("ScatterND", x.shape, indices.shape, readIndices(indices), 0);
    const out = copyStore(x.data);
    scatter(out, starts, block, operand(inputs, 2).data, reduction, dtype);
    return [arithmetic.round(dtype, out)];
  },
};
