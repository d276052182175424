// ONNX ops that the vocabulary says in other words. Only what exporters write around the ops that it has; the rest
// of ONNX is refused.
import { elementCount, type HostTensor } from "@mp/graph";
import { literals } from "../literals.js";
import { foldOperands } from "./binary.js";
import { dropout } from "./dropout.js";
import type { ReadNode } from "./node/node-reader.js";
import { triangle } from "./triangle.js";
import { castTo } from "./unary.js";

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
