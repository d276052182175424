import type { HostTensor } from "@mp/graph";
import {
  mapBodies,
  type OnnxGraph,
  type OnnxModel,
  type OnnxNode,
  type OnnxValueInfo,
  onnxNode,
} from "@mp/onnx/write";

/** A constant that is bound to the model's input with the same name. */
export interface BoundConstant {
  readonly name: string;
  readonly value: HostTensor;
}

/** Largest constant, in bytes, inside the model, a protobuf of at most 2 GB; binding an input costs 0.2 µs. */
const INLINE_BYTES = 4096;

const NONE: ReadonlySet<string> = new Set();

/**
 * Turns large constants into inputs of the model; loop bodies read these inputs like other outer values.
 * @param others names of constants that become inputs whatever their size
 */
export function bindConstants(
  model: OnnxModel,
  others: ReadonlySet<string> = NONE,
): {
  readonly model: OnnxModel;
  readonly constants: readonly BoundConstant[];
} {
  const constants: BoundConstant[] = [];
  const bound = withoutLarge(model.graph, constants, others);
  const initializers = bound.initializers.filter(({ name, tensor, elementType }) => {
    // A binding has the dtype of the tensor, so an initializer with another element type stays in the model.
    const isInline = tensor.data.byteLength <= INLINE_BYTES && !others.has(name);
    if (isInline || elementType !== undefined) return true;
    constants.push({ name, value: tensor });
    return false;
  });
  if (constants.length === 0) return { model, constants };
  const inputs = [...bound.inputs, ...constants.map(constantInput)];
  return { model: { ...model, graph: { ...bound, inputs, initializers } }, constants };
}

/** Returns the graph without its large constants and the named `others`, and appends both to `constants`. */
function withoutLarge(graph: OnnxGraph, constants: BoundConstant[], others: ReadonlySet<string>): OnnxGraph {
  const returned = new Set(graph.outputs.map(({ name }) => name));
  const nodes = graph.nodes.flatMap((node): readonly OnnxNode[] => {
    const value = largeConstant(node, others);
    const [output] = node.outputs;
    if (value === undefined || output === undefined) {
      const attributes = mapBodies(node.attributes, (body) => withoutLarge(body, constants, NONE));
      return [attributes === node.attributes ? node : { ...node, attributes }];
    }
    if (!returned.has(output)) {
      constants.push({ name: output, value });
      return [];
    }
    // An input cannot be an output as well. No generated name holds two slashes.
    const name = `${output}//constant`;
    constants.push({ name, value });
    return [onnxNode("Identity", [name], [output], { name: node.name, metadata: node.metadata })];
  });
  return { ...graph, nodes };
}

function largeConstant(
  { opType, attributes, outputs }: OnnxNode,
  others: ReadonlySet<string>,
): HostTensor | undefined {
  const attribute = opType === "Constant" ? attributes["value"] : undefined;
  if (attribute?.kind !== "tensor") return undefined;
  const isBound = attribute.value.data.byteLength > INLINE_BYTES || outputs.some((name) => others.has(name));
  return isBound ? attribute.value : undefined;
}

function constantInput({ name, value: { dtype, shape } }: BoundConstant): OnnxValueInfo {
  return { name, type: { elementType: dtype, shape }, metadata: {} };
}
