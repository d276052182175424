import type { OpOf, ScatterOp } from "../../graph/families.js";
import { stridesOf } from "../../shape.js";
import { outputType, type ReferenceTable } from "../elements/kernel.js";
import { operand, readElements, readIndices } from "../elements/store.js";
import { countElements, viewOfAxis } from "../elements/strided.js";
import { resolveIndex } from "./index-range.js";

export const gatherKernels: ReferenceTable<Exclude<OpOf<"indexing">, ScatterOp>> = {
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
   * out[i][j] = x[i][index[i][j]] along axis 1, and likewise along other axes; `indices` may be shorter on the rest.
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
};

/** The position in `shape` that each element of `indices` selects along the axis, in row-major order of `indices`. */
export function elementPositions(
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
export function blockPositions(
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
