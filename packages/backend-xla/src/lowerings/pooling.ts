import {
  type OpOf,
  type PoolingWindow,
  type Shape,
  tapCounts,
  tensor,
  windowExtent,
  withoutCeiling,
} from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { type FoldStep, foldWindows } from "../stablehlo/fold.js";
import { count, dtypeOf, type Operand, shapeOf } from "../stablehlo/operand.js";
import { inF32, type Lowering, type LoweringTable, resultType } from "./lowering.js";

/** Folds windows of operands [N, C, d…]. @param initial the neutral element, a scalar, for each operand */
function pool(
  emitter: Emitter,
  operands: readonly [operands: readonly Operand[], initial: readonly Operand[]],
  { kernelShape, strides, dilations, pads }: PoolingWindow,
  pooled: Shape,
  step: FoldStep,
): readonly Operand[] {
  const all = (list: readonly number[], own = 1): readonly number[] => [own, own, ...list];
  const windows = {
    sizes: all(kernelShape),
    strides: all(strides),
    dilations: all(dilations),
    before: all(pads.slice(0, strides.length), 0),
    after: all(pads.slice(strides.length), 0),
  };
  return foldWindows(emitter, operands, pooled, windows, step);
}

const pooling =
  (operation: "maximum" | "add", outside: number): Lowering<"MaxPool" | "AveragePool"> =>
  (emitter, node, [x]) => {
    const window = withoutCeiling(shapeOf(x).slice(2), node.attributes);
    const padding = emitter.splat(dtypeOf(x), outside);
    return pool(emitter, [[x], [padding]], window, resultType(node).shape, ([a], [b]) =>
      a && b ? [emitter.binary(operation, a, b)] : [],
    );
  };

const sumPool = pooling("add", 0);

const averagePool: Lowering<"AveragePool"> = inF32((emitter, node, operands, emitGraph) => {
  const [sums] = sumPool(emitter, node, operands, emitGraph) as readonly [Operand];
  const counts = tapCounts(shapeOf(operands[0]).slice(2), node.attributes)
    .map((own, axis) => {
      const line = emitter.constant(tensor(Float32Array.from(own)));
      return emitter.broadcast(line, shapeOf(sums), [axis + 2]);
    })
    .reduce((product, line) => emitter.binary("multiply", product, line));
  return [emitter.binary("divide", sums, counts)];
});

/** Returns the larger of two elements with its position; of equal elements, the one at the lower position. */
const larger = (emitter: Emitter, sums: readonly Operand[], elements: readonly Operand[]) => {
  const [a, i, b, j] = [...sums, ...elements] as unknown as readonly [Operand, Operand, Operand, Operand];
  const isFirst = emitter.binary("and", emitter.compare("EQ", a, b), emitter.compare("LT", i, j));
  const takes = emitter.binary("or", emitter.compare("GT", a, b), isFirst);
  return [emitter.select(takes, a, b), emitter.select(takes, i, j)];
};

/** The layout of windows along an axis. */
interface Line {
  /** Distance between the starts of two windows. */
  readonly step: number;
  /** Number of pad elements before the axis. */
  readonly begin: number;
  /** The largest number of windows that contain one element. */
  readonly overlap: number;
}

function linesOf(
  spatial: Shape,
  windows: Shape,
  { kernelShape, strides, dilations, pads }: PoolingWindow,
): readonly Line[] {
  return spatial.map((size, axis) => {
    const [begin = 0, step = 1] = [pads[axis], strides[axis]];
    // A single window begins at or before all elements.
    if (windows[axis] === 1) return { step: size + begin, begin, overlap: 1 };
    const extent = windowExtent(kernelShape[axis] ?? 1, dilations[axis] ?? 1);
    return { step, begin, overlap: Math.ceil(extent / step) };
  });
}

/** Repeats each value `step` times along each axis: once for each element until the next window starts. */
function repeatEach(emitter: Emitter, values: Operand, lines: readonly Line[]): Operand {
  const [batch = 0, channels = 0, ...windows] = shapeOf(values);
  const apart = lines.flatMap(({ step }, axis) => [windows[axis] ?? 0, step]);
  const own = [0, 1, ...lines.map((_, axis) => 2 + 2 * axis)];
  const wide = lines.map(({ step }, axis) => (windows[axis] ?? 0) * step);
  const repeats = emitter.broadcast(values, [batch, channels, ...apart], own);
  return emitter.reshape(repeats, [batch, channels, ...wide]);
}

/**
 * Returns for each element of `shape` the value of the last window that begins at or before the element, or
 * of the window `back` windows earlier; `outside` if there is no such window.
 */
function alignTo(
  emitter: Emitter,
  shape: Shape,
  repeats: Operand,
  lines: readonly Line[],
  back: readonly number[],
  outside: number,
): Operand {
  const low = [0, 0, ...lines.map(({ step, begin }, axis) => (back[axis] ?? 0) * step - begin)];
  const high = shapeOf(repeats).map((size, axis) => (shape[axis] ?? 0) - size - (low[axis] ?? 0));
  return emitter.pad(repeats, emitter.splat(dtypeOf(repeats), outside), low, high);
}

/**
 * Adds the dy of every window to its largest element. Each window finds the position of that element. Then
 * each element sums the dy of the windows that found its position, in window order.
 */
const maxPoolGradient: Lowering<"MaxPoolGradient"> = inF32((emitter, node, [dy, x]) => {
  const shape = shapeOf(x);
  const spatial = shape.slice(2);
  const window = withoutCeiling(spatial, node.attributes);
  const position = emitter.expand(emitter.reshape(emitter.iota("i32", [count(spatial)], 0), spatial), shape);
  // Replaces NaN, which has no place in the order, by infinity.
  const numbers = emitter.select(emitter.compare("NE", x, x), emitter.like(x, Number.POSITIVE_INFINITY), x);
  const padding = [emitter.splat(dtypeOf(x), Number.NEGATIVE_INFINITY), emitter.splat("i32", 2 ** 31 - 1)];
  const found = pool(emitter, [[numbers, position], padding], window, shapeOf(dy), (sums, elements) =>
    larger(emitter, sums, elements),
  )[1] as Operand;
  const lines = linesOf(spatial, shapeOf(dy).slice(2), window);
  const [places, values] = [repeatEach(emitter, found, lines), repeatEach(emitter, dy, lines)];
  const terms = lines
    .reduce<readonly (readonly number[])[]>(
      (all, { overlap }) =>
        all.flatMap((back) => Array.from({ length: overlap }, (_, at) => [...back, overlap - 1 - at])),
      [[]],
    )
    .map((back) => {
      const isHere = emitter.compare("EQ", alignTo(emitter, shape, places, lines, back, -1), position);
      return emitter.select(isHere, alignTo(emitter, shape, values, lines, back, 0), 0);
    });
  return [terms.reduce((sum, term) => emitter.binary("add", sum, term))];
});

export const poolingLowerings: LoweringTable<OpOf<"pooling">> = {
  MaxPool: pooling("maximum", Number.NEGATIVE_INFINITY),
  AveragePool: averagePool,
  MaxPoolGradient: maxPoolGradient,
};
