// Updates are applied in row-major order, so the last one wins if reduction is "none" and an index repeats (undefined
// in ONNX). Floats accumulate in f32 and are rounded to the dtype after all updates.

import type { DType } from "../../dtype.js";
import type { ScatterReduction } from "../../graph/attributes.js";
import type { ScatterOp } from "../../graph/families.js";
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
import { blockPositions, elementPositions } from "./gather.js";

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

export const scatterKernels: ReferenceTable<ScatterOp> = {
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
