import type { OnnxAttributeKind } from "./model.js";

/** ONNX's code for each attribute kind: `AttributeProto.AttributeType`. */
export const codeOfKind: Readonly<Record<OnnxAttributeKind, number>> = {
  float: 1,
  int: 2,
  string: 3,
  tensor: 4,
  graph: 5,
  floats: 6,
  ints: 7,
  strings: 8,
  tensors: 9,
  graphs: 10,
};
