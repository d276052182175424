// Searches along one axis. NaN counts as larger than every number; of equal elements the first wins.

import type { Op } from "../../graph/attributes.js";
import type { ArgOp } from "../../graph/families.js";
import { outputType, type ReferenceKernel, type ReferenceTable } from "../elements/kernel.js";
import { operand, readElements } from "../elements/store.js";
import { viewOfAxis } from "../elements/strided.js";

type Comparable = number | bigint;

function isNan(x: Comparable): boolean {
  return typeof x === "number" && Number.isNaN(x);
}

/** Whether `x` replaces `best`; NaN replaces all but NaN, in the search for the largest and for the smallest. */
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

export const searchKernels: ReferenceTable<Extract<Op, "ArgMax" | "ArgMin" | "TopK">> = {
  ArgMax: argKernel((x, best) => x > best),
  ArgMin: argKernel((x, best) => x < best),
  TopK: topK,
};
