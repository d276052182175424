import { type HostTensor, isComputeFloat } from "@mp/graph";
import type { OnnxGraph, OnnxNode } from "@mp/onnx/write";

/** A graph, and the names of its constants that must be bound because the engine must not know their values. */
export interface Parted {
  readonly graph: OnnxGraph;
  readonly names: ReadonlySet<string>;
}

const ARITHMETIC: ReadonlySet<string> = new Set(["Add", "Sub", "Mul", "Div", "Pow", "MatMul", "Cast"]);
/** Ops that accept any operand, known at compile time or not. */
const ELEMENTWISE: ReadonlySet<string> = new Set([
  ...ARITHMETIC,
  "Where", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal", "Min", "Max", "Abs", "Neg",
]); // biome-ignore format: one list

/** Largest number of readers of one scalar: the engine's compile time grows with the square of their number. */
const READERS = 50;

/** Whether any number is subnormal. */
function holdsSubnormals({ dtype, data }: HostTensor): boolean {
  if (dtype !== "f32") return false;
  return (data as Float32Array).some((number) => number !== 0 && Math.abs(number) < 2 ** -126);
}

const holdsTensor = ({ opType, attributes }: OnnxNode): HostTensor | undefined => {
  const value = opType === "Constant" ? attributes["value"] : undefined;
  return value?.kind === "tensor" ? value.value : undefined;
};

/**
 * Hides constants from the engine's optimizer where it rewrites arithmetic wrongly. It merges two constants, although
 * (x · a) · b is not x · (a · b) if x · a overflows or is rounded. It drops x + 0 and adds 0 to products, which loses
 * the sign of zeros. It takes subnormals for 0. Of two products with one constant, one of them transposed, one is
 * wrong. A constant that another op must know is copied for the arithmetic.
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
  /** The name under which an elementwise node reads a value. */
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
