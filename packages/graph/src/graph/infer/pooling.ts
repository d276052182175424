import { elementCount, formatShape, type Shape } from "../../shape.js";
import type { PoolingWindow } from "../attributes.js";
import type { OpOf } from "../families.js";
import type { ValueType } from "../graph.js";
import { hasEmptyWindow, poolSizes } from "../pooling-window.js";
import {
  argumentError,
  expectDType,
  expectIntegers,
  expectSameDType,
  expectShape,
  type InferTable,
  operands,
  shapeError,
} from "./rule.js";

/** The shape of the result of pooling x. @throws MP_SHAPE_MISMATCH, MP_INVALID_ARGUMENT */
function poolShape(op: OpOf<"pooling">, shape: Shape, window: PoolingWindow): Shape {
  const [batch, channels, ...spatial] = shape;
  if (batch === undefined || channels === undefined || spatial.length === 0) {
    throw shapeError(op, `x must be [N, C, d…], got ${formatShape(shape)}`);
  }
  const rank = spatial.length;
  expectIntegers(op, "kernelShape", window.kernelShape, rank, 1);
  expectIntegers(op, "strides", window.strides, rank, 1);
  expectIntegers(op, "dilations", window.dilations, rank, 1);
  expectIntegers(op, "pads", window.pads, 2 * rank, 0);
  const sizes = poolSizes(spatial, window);
  const kernel = formatShape(window.kernelShape);
  if (sizes.includes(0)) {
    throw shapeError(
      op,
      `a window of ${kernel} does not fit into ${formatShape(spatial)} with pads [${window.pads}]`,
    );
  }
  // Some engines make a padded copy of the operand, so its size is limited, too.
  const padded = spatial.map(
    (size, axis) => size + (window.pads[axis] ?? 0) + (window.pads[axis + rank] ?? 0),
  );
  elementCount([batch, channels, ...padded], `${op} with pads ${formatShape(window.pads)}`);
  if (hasEmptyWindow(spatial, window)) {
    throw argumentError(
      op,
      `pads [${window.pads}] leave windows of ${kernel} with nothing in them; take smaller ones`,
    );
  }
  return [batch, channels, ...sizes];
}

function poolRule(op: "MaxPool" | "AveragePool") {
  return (inputs: readonly ValueType[], window: PoolingWindow): readonly ValueType[] => {
    const [x] = operands(op, inputs, 1);
    expectDType(op, x);
    return [{ dtype: x.dtype, shape: poolShape(op, x.shape, window) }];
  };
}

export const poolingInfer: InferTable<OpOf<"pooling">> = {
  MaxPool: poolRule("MaxPool"),
  AveragePool: poolRule("AveragePool"),
  MaxPoolGradient: (inputs, window) => {
    const op = "MaxPoolGradient";
    const [dy, x, y] = operands(op, inputs, 3);
    expectDType(op, dy);
    expectSameDType(op, inputs);
    const shape = poolShape(op, x.shape, window);
    expectShape(op, dy.shape, shape, "dy");
    expectShape(op, y.shape, shape, "y");
    return [x];
  },
};
