import type { Tensor } from "@mp/graph";
import { add, concat, gather, mul, reshape, slice, split, stack, sub, transpose } from "@mp/graph/ops";
import type { ReadNode } from "../node/node-reader.js";

/** Rotates pairs among the first elements of each head by angles that depend on the position. */
export const rotaryEmbedding: ReadNode = (reader) => {
  const x = reader.operand(0);
  const [cos, sin] = [reader.operand(1), reader.operand(2)];
  const places = reader.isGiven(3) ? [reader.indices(3)] : [];
  const isInterleaved = reader.int("interleaved", 0) !== 0;
  const hasHeads = x.shape.length === 4;
  const heads = hasHeads ? (x.shape[1] ?? 0) : reader.int("num_heads", 0);
  reader.int("num_heads", 0);
  const [batch = 0, time = 0] = hasHeads ? [x.shape[0], x.shape[2]] : x.shape;
  const size = hasHeads ? (x.shape[3] ?? 0) : (x.shape[2] ?? 0) / heads;
  const turned = reader.int("rotary_embedding_dim", 0) || size;
  if (!Number.isInteger(size) || turned > size || turned % 2 !== 0)
    return reader.unsupported(`turns ${turned} numbers of heads of ${size}`);
  const rotate = (all: Tensor, c: Tensor, s: Tensor): Tensor => {
    const pairs = slice(all, [{ axis: 3, start: 0, end: turned }]);
    const [first, second] = isInterleaved
      ? [0, 1].map((start) => slice(pairs, [{ axis: 3, start, step: 2 }]))
      : split(pairs, 2, 3);
    const real = sub(mul(c, first as Tensor), mul(s, second as Tensor));
    const imaginary = add(mul(s, first as Tensor), mul(c, second as Tensor));
    const joined = isInterleaved
      ? reshape(stack([real, imaginary], 4), pairs.shape)
      : concat([real, imaginary], 3);
    return turned === size
      ? joined
      : concat([joined, slice(all, [{ axis: 3, start: turned, end: size }])], 3);
  };
  return reader.compose([x, cos, sin, ...places], (given: Tensor, c: Tensor, s: Tensor, at?: Tensor) => {
    const inTime = hasHeads ? transpose(given, [0, 2, 1, 3]) : reshape(given, [batch, time, heads, size]);
    const angles = [c, s].map((cache) => {
      const rows = at === undefined ? cache : gather(cache, at, 0);
      return reshape(rows, [...rows.shape.slice(0, -1), 1, turned / 2]);
    }) as [Tensor, Tensor];
    const y = rotate(inTime, ...angles);
    return hasHeads ? transpose(y, [0, 2, 1, 3]) : reshape(y, given.shape);
  });
};
