// ONNX Runtime's CPU (1.30, 1.32) crashes when it loads a file in which a value is cast to float16, then transposed,
// and read by a product. It removes the cast, and with it a value that its fusion of transposes looks for. So a value
// is moved in its own dtype, and cast where the first operator computes with it. The engine itself casts values that
// are computed in float16, so these are transposed in float32.
import { type Graph, GraphBuilder, isNode, type Op, opTable, type Value } from "@mp/graph";
import { GraphCopy } from "@mp/graph/internal";

/** Whether an op only moves elements of its first operand or, for Concat, of all operands. */
function movesOperands(op: Op): boolean {
  const { moves } = opTable[op];
  return moves !== undefined && moves !== "fills";
}

/** Moves each cast to f16 after the ops that only move its elements. */
export function castAfterMoves(graph: Graph): Graph {
  const builder = new GraphBuilder();
  const copy = new GraphCopy(graph, builder);
  /** The f32 value before each cast, by the f16 value that is its result. */
  const uncast = new Map<Value, Value>();
  copy.copyInputs();
  for (const node of graph.nodes) {
    const { op, attributes, origin } = node;
    const [operand] = node.inputs;
    const moved = op === "Concat" ? node.inputs : node.inputs.slice(0, 1);
    if (op === "Transpose" && operand?.dtype === "f16" && !uncast.has(operand))
      uncast.set(operand, builder.emitOne("Cast", [copy.counterpart(operand)], { to: "f32" }, origin));
    const isMoved = movesOperands(op) && moved.length > 0 && moved.every((value) => uncast.has(value));
    const inputs = node.inputs.map((value) =>
      isMoved && moved.includes(value) ? (uncast.get(value) as Value) : copy.counterpart(value),
    );
    const outputs = builder.emit<Op>(op, inputs, attributes, origin);
    node.outputs.forEach((value, index) => {
      const output = outputs[index] as Value;
      if (isMoved) uncast.set(value, output);
      copy.values.set(value, isMoved ? builder.emitOne("Cast", [output], { to: "f16" }, origin) : output);
    });
    const [result] = node.outputs;
    const isToHalf = isNode(node, "Cast") && node.attributes.to === "f16" && operand?.dtype === "f32";
    if (isToHalf && result !== undefined) uncast.set(result, copy.counterpart(operand));
  }
  return copy.finish();
}
