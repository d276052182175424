import { type DType, type HalfDType, isHalf } from "../dtype.js";
import type { Op } from "../graph/attributes.js";
import type { GraphBuilder } from "../graph/builder.js";
import { type AnyNode, type Graph, isNode, type Origin, type Value } from "../graph/graph.js";
import { rewriteNodes } from "./rewrite-nodes.js";
import { emitWidened } from "./widen-halves.js";

/** Results are elements of the operands, their negatives, or integers: representable without rounding. */
const EXACT: ReadonlySet<Op> = new Set<Op>([
  "Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Relu", "Identity", "Min", "Max", "Where", "ReduceMax", "ReduceMin", "MaxPool",
  "TopK", "Reshape", "Transpose", "Slice", "Concat", "Split", "Gather", "GatherElements", "GatherND", "Expand",
  "Squeeze", "Unsqueeze", "Tile", "OneHot", "Barrier", "Constant",
]); // biome-ignore format: one list

function isExact(node: AnyNode): boolean {
  if (isNode(node, "ScatterElements") || isNode(node, "ScatterND"))
    return node.attributes.reduction === "none";
  if (isNode(node, "Pad")) return node.attributes.value === 0;
  return EXACT.has(node.op);
}

/**
 * Rewrites a graph for an engine that stores and converts the given halves but does not compute in them. Every half is
 * carried in f32, with a pair of casts f32 → half → f32 wherever the half would be rounded. The results have the same
 * bits as the op definitions, which compute in f32 and round once. Inputs and outputs of the graph keep their dtype; a
 * graph without these halves is returned unchanged.
 * @param onNode called with the name of each node of the new graph and the node that it is part of
 */
export function emulateHalves(graph: Graph, halves: readonly HalfDType[], onNode?: OnNode): Graph {
  const isEmulated = (dtype: DType): boolean => isHalf(dtype) && halves.includes(dtype);
  const isNeeded =
    graph.inputs.some(({ value }) => isEmulated(value.dtype)) ||
    graph.nodes.some((node) => node.outputs.some(({ dtype }) => isEmulated(dtype)));
  if (!isNeeded) return graph;
  return rewriteNodes(graph, {
    enter: (builder, input) => (isEmulated(input.dtype) ? castTo(builder, input, "f32") : input),
    visit: (builder, node, inputs) => {
      const rounded = (value: Value, half: DType): Value =>
        castTo(builder, castTo(builder, value, half, node.origin), "f32", node.origin);
      if (isNode(node, "Cast") && isEmulated(node.attributes.to)) {
        return [rounded(inputs[0] as Value, node.attributes.to)];
      }
      const results = emitWidened(builder, node, inputs, isEmulated);
      return node.outputs.map(({ dtype }, index) => {
        const result = results[index] as Value;
        return isEmulated(dtype) && !isExact(node) ? rounded(result, dtype) : result;
      });
    },
    leave: (builder, { dtype }, carrier) =>
      carrier.dtype === dtype ? carrier : castTo(builder, carrier, dtype),
    onNode,
  });
}

type OnNode = (made: string, source: AnyNode) => void;

const castTo = (builder: GraphBuilder, value: Value, to: DType, origin?: Origin): Value =>
  builder.emitOne("Cast", [value], { to }, origin);
