/** Operations that fold many elements into one: along axes, or in each window of a tensor. */
import { isFloat, type Shape } from "@mp/graph";
import type { Emitter } from "./emitter.js";
import { type FoldOp, neutralOf } from "./neutral.js";
import { dtypeOf, type Operand, shapeOf } from "./operand.js";
import { arrayText, namesText, typesText, typeText } from "./tensor-type.js";

type Values = readonly Operand[];

/** Emits one step of a fold, for one element of each operand. */
export type FoldStep = (sums: Values, elements: Values) => Values;

/** @param initial a scalar for each operand. It must be neutral, because XLA may use it many times */
function fold(
  emitter: Emitter,
  operation: "reduce" | "reduce_window",
  [operands, initial]: readonly [Values, Values],
  shape: Shape,
  attributes: string,
  step: FoldStep,
): Values {
  const scalars = initial.map(({ type }) => type);
  const body = emitter.region([...scalars, ...scalars], (args) =>
    step(args.slice(0, scalars.length), args.slice(scalars.length)),
  );
  const types = operands.map((x) => ({ dtype: dtypeOf(x), shape }));
  const all = [...operands, ...initial];
  return emitter.emitMany(
    `"stablehlo.${operation}"(${namesText(all)}) <{${attributes}}> (${body}) : (${typesText(all)}) -> (${types.map(typeText).join(", ")})`,
    types,
  );
}

/** Folds the elements of each window of several operands together; lists have an entry for each axis. */
export function foldWindows(
  emitter: Emitter,
  operands: readonly [operands: Values, initial: Values],
  shape: Shape,
  windows: Readonly<Record<"sizes" | "strides" | "dilations" | "before" | "after", readonly number[]>>,
  step: FoldStep,
): Values {
  const { sizes, strides, dilations, before, after } = windows;
  const pads = before.map((size, axis) => `[${size}, ${after[axis] ?? 0}]`).join(", ");
  const attributes = `window_dimensions = ${arrayText(sizes)}, window_strides = ${arrayText(strides)}, window_dilations = ${arrayText(dilations)}, padding = dense<[${pads}]> : tensor<${before.length}x2xi64>`;
  return fold(emitter, "reduce_window", operands, shape, attributes, step);
}

function foldAxes(
  emitter: Emitter,
  operation: FoldOp,
  operands: Values,
  axes: readonly number[],
  after: (x: Operand) => Operand = (x) => x,
): Values {
  if (axes.length === 0) return operands;
  const initial = operands.map((x) => emitter.splat(dtypeOf(x), neutralOf(operation, dtypeOf(x))));
  const shape = shapeOf(operands[0] as Operand).filter((_, axis) => !axes.includes(axis));
  const attributes = `dimensions = ${arrayText(axes)}`;
  return fold(emitter, "reduce", [operands, initial], shape, attributes, (sums, elements) =>
    sums.map((sum, at) => after(emitter.binary(operation, sum, elements[at] as Operand))),
  );
}

/** Folds along axes, which are removed. Each step rounds to the dtype of `x`, so callers sum half dtypes in f32. */
export function reduce(emitter: Emitter, operation: FoldOp, x: Operand, axes: readonly number[]): Operand {
  const isExtreme = operation === "maximum" || operation === "minimum";
  // XLA's CPU compiler would lose NaN in long rows.
  const isFenced = emitter.options.isProcessor === true && isExtreme && isFloat(dtypeOf(x));
  const after = isFenced ? (folded: Operand): Operand => emitter.fence(folded) : undefined;
  return foldAxes(emitter, operation, [x], axes, after)[0] as Operand;
}

/** `reduce` with the axes kept as 1, so that the result broadcasts to the shape of `x`. */
export function reduceKept(
  emitter: Emitter,
  operation: FoldOp,
  x: Operand,
  axes: readonly number[],
): Operand {
  const shape = shapeOf(x).map((size, axis) => (axes.includes(axis) ? 1 : size));
  return emitter.reshape(reduce(emitter, operation, x, axes), shape);
}

/**
 * Sums each operand, all of the same type, along the same axes, which are removed. XLA computes a long sum in two
 * kernels, and an operation with several sums in two kernels as well.
 */
export const sumTogether = (emitter: Emitter, operands: Values, axes: readonly number[]): Values =>
  emitter.isForOneGpu
    ? foldAxes(emitter, "add", operands, axes)
    : operands.map((x) => reduce(emitter, "add", x, axes));
