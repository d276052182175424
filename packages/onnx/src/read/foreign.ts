// ONNX ops that the graph expresses by others. Reads only ops that exporters write around those of the graph; the rest
// of ONNX is refused.
import { elementCount, type HostTensor } from "@mp/graph";
import { cast, greaterOrEqual, lessOrEqual, range, reshape, sub, where } from "@mp/graph/ops";
import { literals } from "../literals.js";
import { foldOperands } from "./binary.js";
import { dropout } from "./dropout.js";
import type { ReadNode } from "./node/node-reader.js";
import { castTo } from "./unary.js";

/** Zeroes one side of a diagonal in the last two axes, `k` to the right of the main diagonal. */
const triangle: ReadNode = (reader) => {
  const [k = 0] = reader.integers(1) ?? [];
  const isUpper = reader.int("upper", 1) !== 0;
  const x = reader.operand(0);
  const [rows, columns] = x.shape.slice(-2);
  if (rows === undefined || columns === undefined) return reader.unsupported("takes no matrix");
  return reader.compose([x], (values) => {
    const distance = sub(range(0, columns), reshape(range(0, rows), [rows, 1]));
    const isKept = isUpper ? greaterOrEqual(distance, k) : lessOrEqual(distance, k);
    // `where` takes no number for a bool, so this selects in i32.
    if (values.dtype === "bool") return cast(where(isKept, cast(values, "i32"), 0), "bool");
    return where(isKept, values, 0);
  });
};

export const foreignReaders: Readonly<Record<string, ReadNode>> = {
  Shape: (reader) => {
    const { shape } = reader.type(0);
    const sizes = shape.slice(reader.int("start", 0), reader.int("end", shape.length));
    return [{ constant: literals(sizes, "i64") }];
  },
  Size: (reader) => [{ constant: literals([elementCount(reader.type(0).shape, "Size")], "i64", []) }],
  Flatten: (reader) => {
    const x = reader.operand(0);
    const axis = reader.int("axis", 1);
    const at = axis === x.shape.length ? axis : reader.fromFront(axis, x.shape.length);
    const shape = [x.shape.slice(0, at), x.shape.slice(at)].map((part) => elementCount(part, "Flatten"));
    return [reader.emitOne("Reshape", [x], { shape })];
  },
  Trilu: triangle,
  Sum: (reader) => [foldOperands(reader, "Add")],
  Dropout: dropout,
  ConstantOfShape: (reader) => {
    const shape = reader.integers(0) ?? reader.unsupported("has no shape");
    const tensor = reader.tensor("value") ?? literals([0], "f32");
    const value = reader.emitOne("Constant", [], { value: { ...tensor, shape: [] } as HostTensor });
    return [shape.length === 0 ? value : reader.emitOne("Expand", [value], { shape })];
  },
  CastLike: (reader) => castTo(reader, reader.type(1).dtype),
};
