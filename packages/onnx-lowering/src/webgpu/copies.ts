import { OPS, opTable, tensor } from "@mp/graph";
import { int, type OnnxGraph, type OnnxInitializer, type OnnxNode, onnxNode } from "@mp/onnx/write";

/**
 * Operators whose kernels copy a buffer, instead of running a shader, if the result cannot share an operand's
 * memory; a graph output never can. When the provider replays a recorded run, it omits such copies, and also
 * copies of constants.
 */
const COPYING: ReadonlySet<string> = new Set([
  ...OPS.filter((op) => opTable[op].moves === "view"),
  "Constant",
  "ScatterElements",
  "ScatterND",
]);

/** Dtypes for which the provider's `Expand` has a shader. */
const EXPANDED: ReadonlySet<string> = new Set(["f32", "f16", "i32"]);

const F32 = { to: int(1) };
const CODES: Readonly<Record<string, number>> = { bool: 9, u8: 2 };

/** Makes a shader, not a buffer copy, write each result of the graph, except empty ones. */
export function withShadersForResults(graph: OnnxGraph): OnnxGraph {
  const types = new Map(graph.outputs.map(({ name, type }) => [name, type]));
  const shapes: OnnxInitializer[] = [];
  const nodes = graph.nodes.flatMap((node): readonly OnnxNode[] => {
    const [output = ""] = node.outputs;
    const type = types.get(output);
    if (type === undefined || !COPYING.has(node.opType)) return [node];
    const shape = (type.shape ?? []).map(Number);
    if (shape.includes(0)) return [node];
    // No generated name holds two slashes.
    const inner = `${output}//inner`;
    const copied: OnnxNode = { ...node, outputs: [inner, ...node.outputs.slice(1)] };
    const copy = (opType: string, from: readonly string[], to: string, attributes = {}): OnnxNode =>
      onnxNode(opType, from, [to], { name: `${node.name}//${opType}`, attributes, metadata: node.metadata });
    const { elementType = "f32" } = type;
    const code = CODES[elementType];
    if (code !== undefined) {
      const wide = `${output}//wide`;
      const back = { ...copy("Cast", [wide], output, { to: int(code) }), name: `${node.name}//back` };
      return [copied, copy("Cast", [inner], wide, F32), back];
    }
    if (!EXPANDED.has(elementType)) return [node];
    const sizes = BigInt64Array.from(shape.map(BigInt));
    shapes.push({ name: `${output}//shape`, tensor: tensor(sizes, [sizes.length]) });
    return [copied, copy("Expand", [inner, `${output}//shape`], output)];
  });
  return { ...graph, nodes, initializers: [...graph.initializers, ...shapes] };
}
