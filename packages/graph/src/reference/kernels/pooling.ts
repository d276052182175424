// Windows are visited in row-major order; sums accumulate in f32, tap by tap.

import type { PoolingWindow } from "../../graph/attributes.js";
import type { OpOf } from "../../graph/families.js";
import { tapCounts, tapsOf } from "../../graph/pooling-window.js";
import type { Shape } from "../../shape.js";
import { outputType, type ReferenceTable } from "../elements/kernel.js";
import { type FloatStore, operand, readFloats } from "../elements/store.js";
import { countElements } from "../elements/strided.js";

/** Indices in a plane of the taps of each of its windows. */
function planeTaps(spatial: Shape, window: PoolingWindow): readonly (readonly number[])[] {
  return tapsOf(spatial, window).reduce<readonly (readonly number[])[]>(
    (outer, axis, index) => {
      const size = spatial[index] ?? 1;
      return outer.flatMap((rows) =>
        axis.map((taps) => rows.flatMap((row) => taps.map((tap) => row * size + tap))),
      );
    },
    [[0]],
  );
}

/** Calls back for every window of every plane, with the index of its result and the indices of its taps. */
function forEachWindow(
  shape: Shape,
  window: PoolingWindow,
  visit: (at: number, plane: number, taps: readonly number[], index: number) => void,
): void {
  const spatial = shape.slice(2);
  const windows = planeTaps(spatial, window);
  const planes = countElements(shape.slice(0, 2));
  const plane = countElements(spatial);
  for (let row = 0; row < planes; row++) {
    windows.forEach((taps, index) => {
      visit(row * windows.length + index, row * plane, taps, index);
    });
  }
}

/** The index of the largest element, the first if several are equal; ignores NaN. */
function largest(x: FloatStore, plane: number, taps: readonly number[]): number {
  let position = taps[0] ?? 0;
  let most = Number.NEGATIVE_INFINITY;
  taps.forEach((tap) => {
    const value = x[plane + tap] as number;
    if (value > most) [most, position] = [value, tap];
  });
  return plane + position;
}

export const poolingKernels: ReferenceTable<OpOf<"pooling">> = {
  MaxPool: (inputs, window, outputs, arithmetic) => {
    const { shape, data } = operand(inputs, 0);
    const x = data as FloatStore;
    const y = arithmetic.floats(countElements(outputType(outputs).shape));
    forEachWindow(shape, window, (at, plane, taps) => {
      const hasNaN = taps.some((tap) => Number.isNaN(x[plane + tap]));
      y[at] = hasNaN ? Number.NaN : (x[largest(x, plane, taps)] as number);
    });
    return [y];
  },

  AveragePool: (inputs, window, outputs, arithmetic) => {
    const { shape, data } = operand(inputs, 0);
    const x = data as FloatStore;
    const y = arithmetic.floats(countElements(outputType(outputs).shape));
    const counts = tapCounts(shape.slice(2), window).reduce<readonly number[]>(
      (outer, axis) => outer.flatMap((count) => axis.map((own) => count * own)),
      [1],
    );
    forEachWindow(shape, window, (at, plane, taps, index) => {
      for (const tap of taps) y[at] = (y[at] as number) + (x[plane + tap] as number);
      y[at] = (y[at] as number) / (counts[index] ?? 1);
    });
    return [arithmetic.round(outputType(outputs).dtype, y)];
  },

  MaxPoolGradient: (inputs, window, outputs, arithmetic) => {
    const dy = readFloats(operand(inputs, 0));
    const { shape, data } = operand(inputs, 1);
    const x = data as FloatStore;
    const dx = arithmetic.floats(x.length);
    forEachWindow(shape, window, (at, plane, taps) => {
      const position = largest(x, plane, taps);
      dx[position] = (dx[position] as number) + (dy[at] as number);
    });
    return [arithmetic.round(outputType(outputs).dtype, dx)];
  },
};
