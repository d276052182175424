import { type DType, isFloat } from "../../dtype.js";
import { decodeArray } from "../../float-format/bits.js";
import type { GraphBuilder } from "../../graph/build/builder.js";
import { type AnyNode, isNode, type Value } from "../../graph/graph.js";
import { type HostTensor, tensor } from "../../host/host-tensor.js";

/**
 * Emits a node whose operands of half dtypes are carried in f32. The results are in f32, too, and are not rounded.
 * @param isWidened which dtypes are carried in f32
 */
export function emitWidened(
  builder: GraphBuilder,
  node: AnyNode,
  inputs: readonly Value[],
  isWidened: (dtype: DType) => boolean,
): readonly Value[] {
  const { op, origin } = node;
  if (isNode(node, "Constant") && isWidened(node.attributes.value.dtype)) {
    return builder.emit("Constant", [], { value: widenTensor(node.attributes.value) }, origin);
  }
  if (isNode(node, "Cast")) {
    const to = isWidened(node.attributes.to) ? "f32" : node.attributes.to;
    return inputs[0]?.dtype === to ? inputs : builder.emit("Cast", inputs, { to }, origin, node.name);
  }
  const attributes =
    isNode(node, "OneHot") && isWidened(node.attributes.dtype)
      ? { ...node.attributes, dtype: "f32" as const }
      : node.attributes;
  return builder.emit(op, inputs, attributes as never, origin, node.name);
}

function widenTensor(value: HostTensor): HostTensor {
  if (!isFloat(value.dtype)) return value;
  return tensor(decodeArray(value.dtype, value.data as never), value.shape);
}
