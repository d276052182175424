import { tensor, type Value } from "@mp/graph";
import { constant, gather } from "@mp/graph/ops";
import type { NodeReader, NodeResult } from "../node/node-reader.js";

/** Pads as if copies of the tensor surrounded it. */
export function padByWrapping(reader: NodeReader, x: Value, pads: readonly number[]): readonly NodeResult[] {
  const rank = x.shape.length;
  reader.expectTable(...x.shape.map((size, axis) => size + (pads[axis] ?? 0) + (pads[rank + axis] ?? 0)));
  return reader.compose([x], (values) =>
    x.shape.reduce((y, size, axis) => {
      const [before, after] = [pads[axis] as number, pads[rank + axis] as number];
      if (before === 0 && after === 0) return y;
      const places = Int32Array.from(
        { length: size + before + after },
        (_, at) => (((at - before) % size) + size) % size,
      );
      return gather(y, constant(tensor(places)), axis);
    }, values),
  );
}
