// ONNX's AffineGrid: the places at which GridSample reads a picture that is moved, turned and scaled.
import { tensor } from "@mp/core";
import { cast, constant, matMul, reshape, transpose } from "@mp/core/ops";
import type { ReadNode } from "../node/node-reader.js";
import { expectTable } from "../node/table-limit.js";
import { traced } from "../node/traced.js";

/** -1 … 1 along an axis: its corners are its first and last element, or lie half an element beyond. */
const normalizedPlace = (at: number, size: number, alignsCorners: boolean): number =>
  alignsCorners ? (size === 1 ? -1 : -1 + (2 * at) / (size - 1)) : (2 * at + 1) / size - 1;

export const affineGrid: ReadNode = (reader) => {
  const theta = reader.operand(0);
  const size = reader.integers(1) ?? reader.unsupported("has no size");
  const alignsCorners = reader.int("align_corners", 0) !== 0;
  const sizes = size.slice(2);
  const rank = sizes.length;
  if (
    theta.shape.length !== 3 ||
    theta.shape[1] !== rank ||
    theta.shape[2] !== rank + 1 ||
    theta.shape[0] !== size[0]
  )
    return reader.unsupported(`makes a grid of [${size}] by matrices of [${theta.shape}]`);
  expectTable(reader, ...sizes, rank + 1);
  const count = sizes.reduce((product, each) => product * each, 1);
  return [
    traced(reader, [theta], (matrices) => {
      const places = new Float32Array(count * (rank + 1));
      for (let at = 0; at < count; at++) {
        let left = at;
        for (let axis = rank - 1; axis >= 0; axis--) {
          const length = sizes[axis] as number;
          places[at * (rank + 1) + rank - 1 - axis] = normalizedPlace(left % length, length, alignsCorners);
          left = Math.floor(left / length);
        }
        places[at * (rank + 1) + rank] = 1;
      }
      const base = cast(constant(tensor(places, [count, rank + 1])), matrices.dtype);
      return reshape(matMul(base, transpose(matrices, [0, 2, 1])), [size[0] as number, ...sizes, rank]);
    }),
  ];
};
