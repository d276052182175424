/** Holds i64 as i32 on devices without 64-bit integers. Their manifests refuse u64. */
import {
  type AnyNode,
  type Graph,
  GraphBuilder,
  type HostTensor,
  MpError,
  rangeValues,
  tensor,
  type Value,
  type ValueType,
} from "@mp/graph";

export const shortType = (type: ValueType): ValueType =>
  type.dtype === "i64" ? { dtype: "i32", shape: type.shape } : type;

/** Converts an i64 tensor to i32. @throws MP_OUT_OF_RANGE for a number that i32 does not hold */
export function shorten(given: HostTensor): HostTensor {
  if (given.dtype !== "i64") return given;
  const words = Int32Array.from(given.data, Number);
  given.data.forEach((number, at) => {
    if (number === BigInt(words[at] as number)) return;
    throw new MpError(
      "MP_OUT_OF_RANGE",
      `i64 must be from -2147483648 to 2147483647 on this device, which holds it as i32, got ${number} at element ${at}`,
      { details: { value: String(number), element: at } },
    );
  });
  return tensor(words, given.shape);
}

/** Converts a result back to the dtype of its value; undoes `shorten`. */
export function lengthen(given: HostTensor, { dtype, shape }: ValueType): HostTensor {
  if (dtype !== "i64") return given;
  return tensor(BigInt64Array.from(given.data as Int32Array, BigInt), shape);
}

const isWide = ({ dtype }: ValueType): boolean => dtype === "i64";

const holdsWide = ({ inputs, nodes }: Graph): boolean =>
  inputs.some(({ value }) => isWide(value)) ||
  nodes.some(
    (node) =>
      [...node.inputs, ...node.outputs].some(isWide) ||
      ("body" in node.attributes && holdsWide(node.attributes.body)),
  );

/** A node's attributes with i32 in place of i64. */
function shortAttributes({ attributes }: AnyNode): AnyNode["attributes"] {
  if ("body" in attributes) return { ...attributes, body: shortIntegers(attributes.body) };
  if ("to" in attributes && attributes.to === "i64") return { ...attributes, to: "i32" };
  if ("dtype" in attributes && attributes.dtype === "i64") return { ...attributes, dtype: "i32" };
  return attributes;
}

/**
 * Replaces i64 by i32; returns the same graph if it has no i64. Results beyond i32 wrap.
 * @throws MP_OUT_OF_RANGE for a constant that i32 does not hold
 */
export function shortIntegers(graph: Graph): Graph {
  if (!holdsWide(graph)) return graph;
  const builder = new GraphBuilder();
  const values = new Map<Value, Value>();
  const of = (value: Value): Value => values.get(value) as Value;
  for (const { name, role, value } of graph.inputs)
    values.set(value, builder.input(name, shortType(value), role));
  for (const node of graph.nodes) {
    const results = emitShort(node, node.inputs.map(of), builder);
    for (const [index, value] of node.outputs.entries()) values.set(value, results[index] as Value);
  }
  return builder.finish(new Map(graph.outputs.map(({ name, value }) => [name, of(value)])));
}

function emitShort(node: AnyNode, inputs: readonly Value[], builder: GraphBuilder): readonly Value[] {
  const { op, attributes, origin, name } = node;
  const constant = op === "Constant" ? attributes.value : op === "Range" ? rangeValues(node) : undefined;
  if (constant?.dtype === "i64")
    return builder.emit("Constant", [], { value: shorten(constant) }, origin, name);
  if (op === "Cast" && attributes.to === "i64" && inputs[0]?.dtype === "i32")
    return builder.emit("Identity", inputs, {}, origin, name);
  return builder.emit(op, inputs, shortAttributes(node), origin, name);
}
