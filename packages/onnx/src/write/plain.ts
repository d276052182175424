import type { Op } from "@mp/core/graph";
import { int, type OnnxAttributes } from "../model.js";
import type { Lowering } from "./lowering.js";

export const onAxis = ({
  attributes: { axis },
}: {
  readonly attributes: { readonly axis: number };
}): OnnxAttributes => ({
  axis: int(axis),
});

/** The ONNX op of the same name on the same operands. */
export function plain<K extends Op>(
  attributes?: (node: Parameters<Lowering<K>>[0]) => OnnxAttributes,
): Lowering<K> {
  return (node, operands, writer) => writer.emit(node.op, operands, attributes?.(node) ?? {});
}
