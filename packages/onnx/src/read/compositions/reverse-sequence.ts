// ONNX's ReverseSequence, which exporters write around recurrent layers that run backward.
import type { Tensor } from "@mp/core";
import { expand, gatherElements, less, range, reshape, sub, where } from "@mp/core/ops";
import type { ReadNode } from "../node/node-reader.js";
import { traced } from "../node/traced.js";

/** The vector along one axis of a shape. */
const vectorAlong = (x: Tensor, shape: readonly number[], axis: number): Tensor =>
  expand(
    reshape(
      x,
      shape.map((size, each) => (each === axis ? size : 1)),
    ),
    shape,
  );

/** 0, 1, 2 … along one axis of a shape, i32. */
const placesAlong = (shape: readonly number[], axis: number): Tensor =>
  vectorAlong(range(0, shape[axis] as number), shape, axis);

/** The first elements of each row of a batch, as many as it says, the last first. */
export const reverseSequence: ReadNode = (reader) => {
  const [x, lengths] = [reader.operand(0), reader.indices(1)];
  const [time, batch] = [reader.int("time_axis", 0), reader.int("batch_axis", 1)];
  const { shape } = x;
  if (time === batch || Math.max(time, batch) >= shape.length || Math.min(time, batch) < 0)
    return reader.unsupported(`reverses axis ${time} of [${shape}] by rows of axis ${batch}`);
  return [
    traced(reader, [x, lengths], (values, counts) => {
      const place = placesAlong(shape, time);
      const count = vectorAlong(counts, shape, batch);
      const index = where(less(place, count), sub(sub(count, 1), place), place);
      return gatherElements(values, index, time);
    }),
  ];
};
