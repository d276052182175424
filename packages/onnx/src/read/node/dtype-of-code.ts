import type { DType } from "@mp/core";
import { elementTypeOfCode, isDType } from "../../element-type.js";
import { remedyFor } from "../../read-as.js";
import type { NodeReader } from "./node-reader.js";

/** The dtype for an element type code of ONNX, given as an attribute. */
export function dtypeOfCode(reader: NodeReader, code: number): DType {
  const type = elementTypeOfCode(code);
  if (type === undefined) return reader.unsupported(`makes element type ${code}`);
  if (!isDType(type)) return reader.unsupported(`makes ${type}${remedyFor(type)}`);
  return type;
}
