import type { OpOf } from "../../graph/families.js";
import { tapCounts } from "../../graph/pooling-window.js";
import { tensor } from "../../host/host-tensor.js";
import { emit } from "../../trace/emit.js";
import { add, mul } from "../../trace/ops/binary.js";
import { expand, pad, reshape, slice } from "../../trace/ops/movement.js";
import { constant } from "../../trace/ops/source.js";
import type { Tensor } from "../../trace/tensor.js";
import { type GradientRule, type GradientTable, narrow, wide } from "./rule.js";

/** The window along one axis. */
interface Step {
  readonly kernel: number;
  readonly stride: number;
  readonly dilation: number;
  /** Padding at the beginning. */
  readonly begin: number;
  /** Size of the axis before pooling. */
  readonly size: number;
}

const around = (x: Tensor, axis: number, before: number, after: number): Tensor =>
  before === 0 && after === 0
    ? x
    : pad(
        x,
        x.shape.map((_, at): [number, number] => (at === axis ? [before, after] : [0, 0])),
      );

/** Takes `length` elements of the axis from `start` on, with zeros beyond its ends. */
function cut(x: Tensor, axis: number, start: number, length: number): Tensor {
  const size = x.shape[axis] ?? 0;
  const padded = around(x, axis, Math.max(0, -start), Math.max(0, start + length - size));
  const from = Math.max(0, start);
  if (padded.shape[axis] === length) return padded;
  return slice(padded, [{ axis, start: from, end: from + length }]);
}

function withAxis(x: Tensor, axis: number, sizes: readonly number[]): Tensor {
  return reshape(x, [...x.shape.slice(0, axis), ...sizes, ...x.shape.slice(axis + 1)]);
}

/** Adds each element to all positions of its window along the axis: the transpose of summing over windows. */
function spread(x: Tensor, axis: number, { kernel, stride, dilation, begin, size }: Step): Tensor {
  const windows = x.shape[axis] ?? 0;
  const column = withAxis(x, axis, [windows, 1]);
  if (kernel === stride && dilation === 1) {
    const shape = column.shape.map((length, at) => (at === axis + 1 ? kernel : length));
    const repeated = kernel === 1 ? column : expand(column, shape);
    const row = reshape(repeated, [...x.shape.slice(0, axis), windows * kernel, ...x.shape.slice(axis + 1)]);
    return cut(row, axis, begin, size);
  }
  const dilated = stride === 1 ? x : around(column, axis + 1, 0, stride - 1);
  const row = reshape(dilated, [...x.shape.slice(0, axis), windows * stride, ...x.shape.slice(axis + 1)]);
  const taps = Array.from({ length: kernel }, (_, tap) => cut(row, axis, begin - tap * dilation, size));
  return taps.reduce((sum, part) => add(sum, part));
}

/** Divides each window's dy by the window's divisor and adds the quotient to all positions of the window, in f32. */
const averagePoolGradient: GradientRule<"AveragePool"> = ({ attributes, gradient, inputType }) => {
  const x = inputType(0);
  const spatial = x.shape.slice(2);
  const counts = tapCounts(spatial, attributes);
  let result = wide(gradient(0));
  counts.forEach((axis, index) => {
    const column = [axis.length, ...spatial.slice(index + 1).map(() => 1)];
    const [first = 1] = axis;
    const shares = axis.every((count) => count === first)
      ? 1 / first
      : constant(
          tensor(
            Float32Array.from(axis, (count) => 1 / count),
            column,
          ),
        );
    if (shares !== 1) result = mul(result, shares);
  });
  spatial.forEach((size, index) => {
    const { kernelShape, strides, dilations, pads } = attributes;
    const [kernel = 1, stride = 1, dilation = 1, begin = 0] = [kernelShape, strides, dilations, pads].map(
      (numbers) => numbers[index],
    );
    result = spread(result, index + 2, { kernel, stride, dilation, begin, size });
  });
  return [narrow(result, x)];
};

export const poolingGradients: GradientTable<OpOf<"pooling">> = {
  MaxPool: ({ attributes, gradient, input, output }) => [
    emit("MaxPoolGradient", [gradient(0), input(0), output(0)], attributes),
  ],
  AveragePool: averagePoolGradient,
  MaxPoolGradient: { notDifferentiable: "second derivatives through a maximum pool are not there" },
};
