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
import { count, dtypeOf, type Operand, shapeOf } from "../stablehlo/operand.js";
import { arrayText, namesText, typesText, typeText } from "../stablehlo/tensor-type.js";
import { inF32, type Lowering, type LoweringTable, resultType } from "./lowering.js";

type Fold = (emitter: Emitter, sums: readonly Operand[], elements: readonly Operand[]) => readonly Operand[];

/**
 * Folds the elements of each window of operands [N, C, d…], several operands at once.
 * @param padding a neutral scalar for each operand
 * @param pooled the shape of the result
 */
function foldWindows(
  emitter: Emitter,
  operands: readonly Operand[],
  padding: readonly Operand[],
  { kernelShape, strides, dilations, pads }: PoolingWindow,
  pooled: Shape,
  fold: Fold,
): readonly Operand[] {
  const rank = kernelShape.length;
  const scalars = padding.map(({ type }) => type);
  const body = emitter.region([...scalars, ...scalars], (args) =>
    fold(emitter, args.slice(0, scalars.length), args.slice(scalars.length)),
  );
  const all = (list: readonly number[]): string => arrayText([1, 1, ...list]);
  const pairs = kernelShape.map((_, axis) => `[${pads[axis]}, ${pads[rank + axis]}]`);
  const types = operands.map((operand) => ({ dtype: dtypeOf(operand), shape: pooled }));
  return emitter.emitMany(
    `"stablehlo.reduce_window"(${namesText([...operands, ...padding])}) <{window_dimensions = ${all(kernelShape)}, window_strides = ${all(strides)}, window_dilations = ${all(dilations)}, padding = dense<[[0, 0], [0, 0], ${pairs.join(", ")}]> : tensor<${rank + 2}x2xi64>}> (${body}) : (${typesText([...operands, ...padding])}) -> (${types.map(typeText).join(", ")})`,
    types,
  );
}

const pool =
  (operation: "maximum" | "add", outside: number): Lowering<"MaxPool" | "AveragePool"> =>
  (emitter, node, [x]) => {
    const window = withoutCeiling(shapeOf(x).slice(2), node.attributes);
    const padding = emitter.splat(dtypeOf(x), outside);
    return foldWindows(emitter, [x], [padding], window, resultType(node).shape, (_, [a], [b]) =>
      a && b ? [emitter.binary(operation, a, b)] : [],
    );
  };

const sumPool = pool("add", 0);

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

/** Of two elements the larger, or else the one at the lower position, with its position. */
const larger: Fold = (emitter, sums, elements) => {
  const [a, i, b, j] = [...sums, ...elements] as unknown as readonly [Operand, Operand, Operand, Operand];
  const isFirst = emitter.binary("and", emitter.compare("EQ", a, b), emitter.compare("LT", i, j));
  const takes = emitter.binary("or", emitter.compare("GT", a, b), isFirst);
  return [emitter.select(takes, a, b), emitter.select(takes, i, j)];
};

/** How windows lie along an axis. */
interface Line {
  /** Distance between the starts of two windows. */
  readonly step: number;
  /** Padding before the axis. */
  readonly begin: number;
  /** The greatest number of windows that extend over one element. */
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

/** Each value along an axis as many times as there are elements from one window to the next. */
function repeatEach(emitter: Emitter, values: Operand, lines: readonly Line[]): Operand {
  const [batch = 0, channels = 0, ...windows] = shapeOf(values);
  const apart = lines.flatMap(({ step }, axis) => [windows[axis] ?? 0, step]);
  const own = [0, 1, ...lines.map((_, axis) => 2 + 2 * axis)];
  const wide = lines.map(({ step }, axis) => (windows[axis] ?? 0) * step);
  const repeats = emitter.broadcast(values, [batch, channels, ...apart], own);
  return emitter.reshape(repeats, [batch, channels, ...wide]);
}

/**
 * For each element of `shape` the repeated value of the last window to begin at or before it, if `back` is 0, or of one
 * `back` before that.
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
 * Every window's dy at its largest element: finds the position of that element, and then adds to each element the dy
 * of those windows over it that found it, the first window first.
 */
const maxPoolGradient: Lowering<"MaxPoolGradient"> = inF32((emitter, node, [dy, x]) => {
  const shape = shapeOf(x);
  const spatial = shape.slice(2);
  const window = withoutCeiling(spatial, node.attributes);
  const position = emitter.expand(emitter.reshape(emitter.iota("i32", [count(spatial)], 0), spatial), shape);
  // As infinities, NaN has a place in the order.
  const numbers = emitter.select(emitter.compare("NE", x, x), emitter.like(x, Number.POSITIVE_INFINITY), x);
  const padding = [emitter.splat(dtypeOf(x), Number.NEGATIVE_INFINITY), emitter.splat("i32", 2 ** 31 - 1)];
  const found = foldWindows(emitter, [numbers, position], padding, window, shapeOf(dy), larger)[1] as Operand;
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
  MaxPool: pool("maximum", Number.NEGATIVE_INFINITY),
  AveragePool: averagePool,
  MaxPoolGradient: maxPoolGradient,
};
