import {
  broadcastShapes,
  elementCount,
  formatShape,
  normalizeAxis,
  type Shape,
  sameShape,
} from "../../shape.js";
import type { OpOf } from "../families.js";
import {
  argumentError,
  expectSameDType,
  firstOperand,
  type InferTable,
  operands,
  shapeError,
} from "./rule.js";

/** Number of elements in a slice of one axis. */
function sliceLength(start: number, end: number, step: number): number {
  return Math.max(0, Math.ceil((end - start) / step));
}

export const movementInfer: InferTable<OpOf<"movement">> = {
  Reshape: (inputs, { shape }) => {
    const [x] = operands("Reshape", inputs, 1);
    if (elementCount(shape, "Reshape") !== elementCount(x.shape, "Reshape")) {
      throw shapeError(
        "Reshape",
        `${formatShape(x.shape)} does not hold as many elements as ${formatShape(shape)}`,
      );
    }
    return [{ dtype: x.dtype, shape }];
  },
  Transpose: (inputs, { perm }) => {
    const [x] = operands("Transpose", inputs, 1);
    const sorted = [...perm].sort((a, b) => a - b);
    if (perm.length !== x.shape.length || sorted.some((axis, index) => axis !== index)) {
      throw argumentError(
        "Transpose",
        `perm [${perm.join(", ")}] does not order the axes of ${formatShape(x.shape)}`,
      );
    }
    return [{ dtype: x.dtype, shape: perm.map((axis) => x.shape[axis] as number) }];
  },
  Slice: (inputs, { starts, ends, axes, steps }) => {
    const [x] = operands("Slice", inputs, 1);
    const shape = [...x.shape];
    axes.forEach((axis, index) => {
      normalizeAxis(axis, shape.length, "Slice");
      const step = steps[index] as number;
      if (step === 0) throw argumentError("Slice", "a step is 0");
      shape[axis] = sliceLength(starts[index] as number, ends[index] as number, step);
    });
    return [{ dtype: x.dtype, shape }];
  },
  Concat: (inputs, { axis }) => {
    const first = firstOperand("Concat", inputs);
    expectSameDType("Concat", inputs);
    normalizeAxis(axis, first.shape.length, "Concat");
    let size = 0;
    for (const input of inputs) {
      const same = first.shape.every(
        (dimension, index) => index === axis || dimension === input.shape[index],
      );
      if (input.shape.length !== first.shape.length || !same) {
        throw shapeError(
          "Concat",
          `${formatShape(input.shape)} does not join ${formatShape(first.shape)} on axis ${axis}`,
        );
      }
      size += input.shape[axis] as number;
    }
    return [
      {
        dtype: first.dtype,
        shape: first.shape.map((dimension, index) => (index === axis ? size : dimension)),
      },
    ];
  },
  Split: (inputs, { axis, split }) => {
    const [x] = operands("Split", inputs, 1);
    normalizeAxis(axis, x.shape.length, "Split");
    const sum = split.reduce((total, part) => total + part, 0);
    if (
      split.length === 0 ||
      split.some((part) => !Number.isInteger(part) || part < 0) ||
      sum !== x.shape[axis]
    ) {
      throw shapeError("Split", `parts ${formatShape(split)} do not add up to ${x.shape[axis]}`);
    }
    return split.map((part) => ({
      dtype: x.dtype,
      shape: x.shape.map((dimension, index) => (index === axis ? part : dimension)),
    }));
  },
  Expand: (inputs, { shape }) => {
    const [x] = operands("Expand", inputs, 1);
    if (!sameShape(broadcastShapes(x.shape, shape, "Expand"), shape)) {
      throw shapeError("Expand", `${formatShape(x.shape)} does not expand to ${formatShape(shape)}`);
    }
    return [{ dtype: x.dtype, shape }];
  },
  Squeeze: (inputs, { axes }) => {
    const [x] = operands("Squeeze", inputs, 1);
    for (const axis of axes) {
      if (x.shape[normalizeAxis(axis, x.shape.length, "Squeeze")] !== 1) {
        throw shapeError("Squeeze", `axis ${axis} of ${formatShape(x.shape)} is not 1`);
      }
    }
    return [{ dtype: x.dtype, shape: x.shape.filter((_, axis) => !axes.includes(axis)) }];
  },
  Unsqueeze: (inputs, { axes }) => {
    const [x] = operands("Unsqueeze", inputs, 1);
    const rank = x.shape.length + axes.length;
    for (const axis of axes) normalizeAxis(axis, rank, "Unsqueeze");
    if (new Set(axes).size !== axes.length)
      throw argumentError("Unsqueeze", `axes repeat: ${axes.join(", ")}`);
    const rest = [...x.shape];
    const shape: Shape = Array.from({ length: rank }, (_, axis) =>
      axes.includes(axis) ? 1 : (rest.shift() as number),
    );
    return [{ dtype: x.dtype, shape }];
  },
  Pad: (inputs, { pads, mode }) => {
    const [x] = operands("Pad", inputs, 1);
    const rank = x.shape.length;
    if (pads.length !== 2 * rank || pads.some((pad) => !Number.isInteger(pad) || pad < 0)) {
      throw argumentError("Pad", `pads [${pads.join(", ")}] are not ${2 * rank} integers ≥ 0`);
    }
    x.shape.forEach((dimension, axis) => {
      const reach = Math.max(pads[axis] as number, pads[rank + axis] as number);
      if (
        (mode === "reflect" && reach > dimension - 1) ||
        (mode === "edge" && reach > 0 && dimension === 0)
      ) {
        throw argumentError("Pad", `mode ${mode} cannot pad an axis of ${dimension} by ${reach}`);
      }
    });
    return [
      {
        dtype: x.dtype,
        shape: x.shape.map(
          (dimension, axis) => dimension + (pads[axis] as number) + (pads[rank + axis] as number),
        ),
      },
    ];
  },
  Tile: (inputs, { repeats }) => {
    const [x] = operands("Tile", inputs, 1);
    if (
      repeats.length !== x.shape.length ||
      repeats.some((repeat) => !Number.isInteger(repeat) || repeat < 0)
    ) {
      throw argumentError("Tile", `repeats [${repeats.join(", ")}] do not fit ${formatShape(x.shape)}`);
    }
    return [
      { dtype: x.dtype, shape: x.shape.map((dimension, axis) => dimension * (repeats[axis] as number)) },
    ];
  },
};
