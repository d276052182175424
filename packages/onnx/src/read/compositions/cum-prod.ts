import type { Tensor } from "@mp/core";
import { concat, expand, literal, mul, slice } from "@mp/core/ops";
import { axisOf } from "../node/axis.js";
import type { ReadNode } from "../node/node-reader.js";
import { scalarOperand } from "../node/scalar-operand.js";
import { traced } from "../node/traced.js";

/** Moved along the axis by so many places, ones moving in. */
function moved(x: Tensor, axis: number, by: number): Tensor {
  const size = x.shape[axis] as number;
  const count = Math.min(by, size);
  const ones = expand(
    literal(1, x.dtype),
    x.shape.map((length, each) => (each === axis ? count : length)),
  );
  return concat([ones, slice(x, [{ axis, start: 0, end: size - count }])], axis);
}

const flipped = (x: Tensor, axis: number): Tensor =>
  slice(x, [{ axis, start: -1, end: Number.NEGATIVE_INFINITY, step: -1 }]);

/** Products of all elements up to each one, in as many rounds as the length has bits. */
export const cumProd: ReadNode = (reader) => {
  const x = reader.operand(0);
  const given = scalarOperand(reader, 1, "the axis") ?? reader.unsupported("has no axis");
  const axis = axisOf(reader, given, x.shape.length);
  const [isExclusive, isReverse] = [reader.int("exclusive", 0) !== 0, reader.int("reverse", 0) !== 0];
  const size = x.shape[axis] as number;
  return [
    traced(reader, [x], (values) => {
      const start = isReverse ? flipped(values, axis) : values;
      let product = isExclusive ? moved(start, axis, 1) : start;
      for (let by = 1; by < size; by *= 2) product = mul(product, moved(product, axis, by));
      return isReverse ? flipped(product, axis) : product;
    }),
  ];
};
