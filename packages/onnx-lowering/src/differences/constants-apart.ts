import { type HostTensor, isComputeFloat } from "@mp/graph";
import type { OnnxGraph, OnnxNode } from "@mp/onnx/write";

/** A graph, and the names of its constants whose values the engine must not see; they are bound as inputs. */
export interface Parted {
  readonly graph: OnnxGraph;
  readonly names: ReadonlySet<string>;
}

const ARITHMETIC: ReadonlySet<string> = new Set(["Add", "Sub", "Mul", "Div", "Pow", "MatMul", "Cast"]);
/** Ops that accept any operand, whether it is constant or computed. */
const ELEMENTWISE: ReadonlySet<string> = new Set([
  ...ARITHMETIC,
  "Where", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal", "Min", "Max", "Abs", "Neg",
]); // biome-ignore format: one list

/** Largest number of nodes that read one scalar, since the engine's compile time grows with this number's square. */
const READERS = 50;

/** Whether any element is an f32 subnormal. */
function holdsSubnormals({ dtype, data }: HostTensor): boolean {
  if (dtype !== "f32") return false;
  return (data as Float32Array).some((number) => number !== 0 && Math.abs(number) < 2 ** -126);
}

const holdsTensor = ({ opType, attributes }: OnnxNode): HostTensor | undefined => {
  const value = opType === "Constant" ? attributes["value"] : undefined;
  return value?.kind === "tensor" ? value.value : undefined;
};

/**
 * Hides constants from the engine's optimizer where it rewrites arithmetic wrongly. The optimizer merges two
 * factors, although (x · a) · b is not x · (a · b) if x · a overflows or is rounded. It drops x + 0 and adds
 * 0 to products, which loses the sign of zeros. It takes subnormals for 0. If two products share a constant,
 * transposed in one of them, it gets one product wrong. If an op needs a visible constant, arithmetic reads a
 * hidden copy.
 */
export function withConstantsApart(graph: OnnxGraph): Parted {
  const { nodes, initializers } = graph;
  const constants = new Map<string, HostTensor>(initializers.map(({ name, tensor }) => [name, tensor]));
  for (const node of nodes) {
    const tensor = holdsTensor(node);
    if (tensor !== undefined) constants.set(node.outputs[0] ?? "", tensor);
  }
  const computed = new Set<string>();
  const known = new Set<string>(graph.outputs.map(({ name }) => name));
  for (const { opType, inputs } of nodes)
    for (const name of inputs) {
      if (ARITHMETIC.has(opType)) computed.add(name);
      if (!ELEMENTWISE.has(opType)) known.add(name);
    }
  const names = new Set<string>();
  const copies = new Map<string, string>();
  for (const [name, tensor] of constants) {
    if (!isComputeFloat(tensor.dtype)) continue;
    if (holdsSubnormals(tensor) || (computed.has(name) && !known.has(name))) names.add(name);
    // No generated name holds two slashes.
    else if (computed.has(name)) copies.set(name, `${name}//apart`);
  }
  const made = new Map([...copies].map(([name, copy]) => [copy, constants.get(name) as HostTensor]));
  const reads = new Map<string, number>();
  /** The name by which an elementwise node of this type reads a value: a hidden copy where there is one. */
  const read = (name: string, opType: string): string => {
    const first = (ARITHMETIC.has(opType) ? copies.get(name) : undefined) ?? name;
    const tensor = constants.get(name);
    if (tensor?.data.length !== 1 || !isComputeFloat(tensor.dtype)) return first;
    const count = reads.get(first) ?? 0;
    reads.set(first, count + 1);
    if (count < READERS) return first;
    const copy = `${first}//${Math.floor(count / READERS)}`;
    made.set(copy, tensor);
    return copy;
  };
  const nodesApart = nodes.map(
    (node): OnnxNode =>
      ELEMENTWISE.has(node.opType)
        ? { ...node, inputs: node.inputs.map((name) => read(name, node.opType)) }
        : node,
  );
  const added = [...made].map(([name, tensor]) => ({ name, tensor }));
  return {
    graph: { ...graph, nodes: nodesApart, initializers: [...initializers, ...added] },
    names: new Set([...names, ...made.keys()]),
  };
}
