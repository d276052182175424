import { type DType, type HalfDType, isHalf } from "../../dtype.js";
import type { OpAttributes } from "../../graph/attributes.js";
import type { GraphBuilder } from "../../graph/build/builder.js";
import { rewriteNodes } from "../../graph/build/rewrite-nodes.js";
import {
  type AnyNode,
  type Graph,
  type GraphNode,
  isNode,
  type Origin,
  type Value,
} from "../../graph/graph.js";
import { opTable } from "../../graph/op-table.js";
import { emitWidened } from "./widen-halves.js";

/** Whether all results are representable without rounding: elements of the operands, their negatives, or integers. */
function isExact(node: AnyNode): boolean {
  if (isNode(node, "ScatterElements") || isNode(node, "ScatterND"))
    return node.attributes.reduction === "none";
  if (isNode(node, "Pad")) return node.attributes.value === 0;
  const { exact, moves } = opTable[node.op];
  return exact === true || (moves !== undefined && moves !== "fills");
}

/**
 * Rewrites a graph for an engine that stores and converts the given half dtypes but does not compute in them. Every
 * value of these dtypes is carried in f32, and goes through a pair of casts f32 → half → f32 wherever it would be
 * rounded. The results have the bits of the op definitions, which compute in f32 and round once. Inputs and outputs of
 * the graph keep their dtype; a graph without these dtypes is returned unchanged. Bodies of loops are rewritten, too.
 * Sequences and stacked results keep the half dtype, which takes half the memory of f32; carries and invariants are
 * f32, so that no step converts them.
 * @param onNode called for each node of the new graph outside of loop bodies, with its name and the node that it is
 *   part of
 */
export function emulateHalves(graph: Graph, halves: readonly HalfDType[], onNode?: OnNode): Graph {
  const isEmulated: IsEmulated = (dtype) => isHalf(dtype) && (halves as readonly DType[]).includes(dtype);
  return holdsAny(graph, isEmulated) ? withoutUnread(emulateGraph(graph, isEmulated, { onNode })) : graph;
}

type OnNode = (made: string, source: AnyNode) => void;
type IsEmulated = (dtype: DType) => boolean;

/** The inputs and outputs of a loop's body that the loop carries in f32. */
interface Carried {
  readonly inputs?: ReadonlySet<Value>;
  /** Number of leading outputs that are carried in f32. */
  readonly outputs?: number;
  readonly onNode?: OnNode | undefined;
}

function holdsAny({ inputs, nodes }: Graph, isEmulated: IsEmulated): boolean {
  return (
    inputs.some(({ value }) => isEmulated(value.dtype)) ||
    nodes.some(
      (node) =>
        node.outputs.some(({ dtype }) => isEmulated(dtype)) ||
        (isNode(node, "Scan") && holdsAny(node.attributes.body, isEmulated)),
    )
  );
}

function emulateGraph(
  graph: Graph,
  isEmulated: IsEmulated,
  { inputs: carried = new Set(), outputs: carries = 0, onNode }: Carried,
): Graph {
  /** Maps an f32 value to the f16 or bf16 value that it was widened from. */
  const narrow = new Map<Value, Value>();
  const widen = (builder: GraphBuilder, half: Value, origin?: Origin): Value => {
    const wide = castTo(builder, half, "f32", origin);
    narrow.set(wide, half);
    return wide;
  };
  /** The f32 carriers of inputs. An input is widened where it is first read, so that it takes less memory before. */
  const wideInputs = new Map<Value, Value>();
  const findCarrier = (builder: GraphBuilder, operand: Value): Value => {
    if (!isEmulated(operand.dtype)) return operand;
    const made = wideInputs.get(operand) ?? widen(builder, operand);
    wideInputs.set(operand, made);
    return made;
  };
  const narrowBack = (builder: GraphBuilder, wide: Value, half: DType, origin?: Origin): Value =>
    wide.dtype === half ? wide : (narrow.get(wide) ?? castTo(builder, wide, half, origin));

  const loop = (
    builder: GraphBuilder,
    node: GraphNode<"Scan">,
    inputs: readonly Value[],
  ): readonly Value[] => {
    const { origin, name, attributes } = node;
    const sequences = isSequence(attributes);
    const operands = node.inputs.map(({ dtype }, index) =>
      sequences(index)
        ? narrowBack(builder, inputs[index] as Value, dtype, origin)
        : findCarrier(builder, inputs[index] as Value),
    );
    const own = attributes.body.inputs.filter((_, index) => !sequences(index)).map(({ value }) => value);
    const body = emulateGraph(attributes.body, isEmulated, {
      inputs: new Set(own),
      outputs: attributes.carries,
    });
    const results = builder.emit(
      "Scan",
      operands,
      { ...attributes, body: withoutUnread(body) },
      origin,
      name,
    );
    return results.map((result) => (isEmulated(result.dtype) ? widen(builder, result, origin) : result));
  };

  return rewriteNodes(graph, {
    declare: (input) => (carried.has(input) && isEmulated(input.dtype) ? { ...input, dtype: "f32" } : input),
    visit: (builder, node, operands) => {
      if (isNode(node, "Scan")) return loop(builder, node, operands);
      // The result keeps its half dtype until it is read, and is widened there.
      if (isNode(node, "Barrier") && isEmulated(operands[0]?.dtype ?? "f32"))
        return builder.emit("Barrier", operands, {}, node.origin, node.name);
      const inputs = operands.map((operand) => findCarrier(builder, operand));
      const roundTwice = (value: Value, half: DType): Value =>
        widen(builder, castTo(builder, value, half, node.origin), node.origin);
      if (isNode(node, "Cast") && isEmulated(node.attributes.to)) {
        return [roundTwice(inputs[0] as Value, node.attributes.to)];
      }
      const results = emitWidened(builder, node, inputs, isEmulated);
      return node.outputs.map(({ dtype }, index) => {
        const result = results[index] as Value;
        return isEmulated(dtype) && !isExact(node) ? roundTwice(result, dtype) : result;
      });
    },
    leave: (builder, { dtype }, carrier, index) =>
      index < carries ? findCarrier(builder, carrier) : narrowBack(builder, carrier, dtype),
    onNode,
  });
}

const isSequence =
  ({ carries, sequences }: Pick<OpAttributes["Scan"], "carries" | "sequences">) =>
  (index: number): boolean =>
    index >= carries && index < carries + sequences;

/** Removes casts that nothing reads, such as the widened values of outputs and of a loop's sequences. */
function withoutUnread(graph: Graph): Graph {
  const read = new Set([
    ...graph.nodes.flatMap(({ inputs }) => inputs),
    ...graph.outputs.map(({ value }) => value),
  ]);
  const nodes = graph.nodes.filter(
    (node) => !isNode(node, "Cast") || node.outputs.some((value) => read.has(value)),
  );
  return { ...graph, nodes };
}

const castTo = (builder: GraphBuilder, value: Value, to: DType, origin?: Origin): Value =>
  builder.emitOne("Cast", [value], { to }, origin);
