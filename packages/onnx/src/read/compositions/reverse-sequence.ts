// ONNX's ReverseSequence, which exporters write around recurrent layers that run backward.
import type { Tensor } from "@mp/graph";
import { expand, gatherElements, less, range, reshape, sub, where } from "@mp/graph/ops";
import type { ReadNode } from "../node/node-reader.js";

/** Expands a vector along `axis` to the whole shape. */
function vectorAlong(x: Tensor, shape: readonly number[], axis: number): Tensor {
  const column = shape.map((size, each) => (each === axis ? size : 1));
  return expand(reshape(x, column), shape);
}

/** Reverses the first elements of each row of a batch; the second operand gives their number for each row. */
export const reverseSequence: ReadNode = (reader) => {
  const [x, lengths] = [reader.operand(0), reader.indices(1)];
  const [time, batch] = [reader.int("time_axis", 0), reader.int("batch_axis", 1)];
  const { shape } = x;
  if (time === batch || Math.max(time, batch) >= shape.length || Math.min(time, batch) < 0)
    return reader.unsupported(`reverses axis ${time} of [${shape}] by rows of axis ${batch}`);
  return reader.compose([x, lengths], (values, counts) => {
    const place = vectorAlong(range(0, shape[time] as number), shape, time);
    const count = vectorAlong(counts, shape, batch);
    const index = where(less(place, count), sub(sub(count, 1), place), place);
    return gatherElements(values, index, time);
  });
};
