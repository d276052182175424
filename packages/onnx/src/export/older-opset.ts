// Writes operators that an older operator set lacks as other operators, and refuses operators without such a form.
import { type AnyNode, expandAttentions, type Graph, isNode, MpError, prepareGraph } from "@mp/graph";
import { OPSET_VERSION } from "../model.js";
import { quote } from "../problem.js";
import { castToEighth } from "../write/cast-to-eighth.js";
import type { LowerNode, NodeWriter } from "../write/lowering.js";
import { averagePoolAttributes } from "../write/pooling.js";

/** The operator sets that can be written, each with the IR version that ONNX released with it. */
export const IR_VERSIONS: Readonly<Record<number, number>> = {
  18: 8,
  19: 9,
  20: 9,
  21: 10,
  22: 10,
  [OPSET_VERSION]: 11,
};

/** Rewrites the graph so that the operator set can express each node. @throws MP_UNSUPPORTED naming the node */
export function graphOfOpset(graph: Graph, opset: number): Graph {
  if (opset === OPSET_VERSION) return expandAttentions(graph, hasAddedMask);
  const expanded = prepareGraph(expandAttentions(graph));
  expectWritable(expanded, opset);
  return expanded;
}

/** Whether a mask is added to the scores. ONNX Runtime's kernel takes the lowest number in it for -∞. */
const hasAddedMask = ({ op, inputs: [, , , mask] }: AnyNode): boolean =>
  op === "Attention" && mask !== undefined && mask.dtype !== "bool";

/** The first operator set, at least 18, that has the node's operator with these dtypes and attributes. */
function neededOpset(node: AnyNode): number {
  const { inputs, outputs } = node;
  const dtypes = [...inputs, ...outputs].map(({ dtype }) => dtype);
  if (dtypes.includes("f8e4m3") || dtypes.includes("f8e5m2")) return 19;
  if (isNode(node, "AveragePool") && node.attributes.dilations.some((dilation) => dilation > 1)) return 19;
  if (isNode(node, "IsInf") && dtypes[0] !== "f32") return 20;
  if ((isNode(node, "ReduceMax") || isNode(node, "ReduceMin")) && dtypes[0] === "bool") return 20;
  // In opset 18 few operators have bf16: matrix and elementwise ones, but no convolutions and pools.
  const movesBf16 = isNode(node, "Cast") || isNode(node, "Constant");
  return dtypes.includes("bf16") && !movesBf16 ? 22 : 18;
}

function expectWritable({ nodes }: Graph, opset: number): void {
  for (const node of nodes) {
    if (isNode(node, "Scan")) expectWritable(node.attributes.body, opset);
    const needed = neededOpset(node);
    if (needed <= opset) continue;
    throw new MpError(
      "MP_UNSUPPORTED",
      `exportOnnx: ${node.op} (node ${quote(node.name)}) in the form that the model needs is of opset ${needed}, got opset: ${opset}; pass ${needed} or more`,
      { details: { node: node.name, op: node.op, opset: needed } },
    );
  }
}

/**
 * Writes ops that `opset` lacks as older ops, which compute in f32, and casts to f8 so that engines agree on what
 * overflows.
 */
export function lowerForOpset(opset: number): LowerNode {
  return (node, operands, writer, standard) => {
    const [x = "", scale = ""] = operands;
    const dtype = node.outputs[0]?.dtype ?? "f32";
    const wide = (name: string): string => (dtype === "f32" ? name : writer.cast(name, "f32"));
    const narrow = (name: string): string => (dtype === "f32" ? name : writer.cast(name, dtype));
    if (isNode(node, "Gelu") && opset < 20)
      return [narrow(gelu(wide(x), node.attributes.approximate === "tanh", writer))];
    if (isNode(node, "RMSNormalization") && opset < 23) {
      const { axis, epsilon } = node.attributes;
      const rank = node.inputs[0]?.shape.length ?? 0;
      const first = axis < 0 ? axis + rank : axis;
      const axes = Array.from({ length: rank - first }, (_, index) => first + index);
      return [writer.one("Mul", [narrow(rmsNormalize(wide(x), axes, epsilon, writer)), scale])];
    }
    const eighth = isNode(node, "Cast") ? castToEighth(node, operands, writer) : undefined;
    if (eighth !== undefined) return eighth;
    // Before opset 19, AveragePool has no dilations; here they are all 1.
    if (isNode(node, "AveragePool") && opset < 19) {
      const { dilations: _ones, ...attributes } = averagePoolAttributes(node);
      return writer.emit("AveragePool", operands, attributes);
    }
    return standard(node, operands);
  };
}

function gelu(x: string, isTanh: boolean, writer: NodeWriter): string {
  const number = (value: number): string => writer.scalar(value, "f32");
  const two = (op: string, a: string, b: string): string => writer.one(op, [a, b]);
  const cube = (): string => two("Mul", two("Mul", x, x), x);
  const bent = isTanh
    ? writer.one("Tanh", [
        two("Mul", two("Add", x, two("Mul", cube(), number(0.044715))), number(Math.sqrt(2 / Math.PI))),
      ])
    : writer.one("Erf", [two("Mul", x, number(Math.SQRT1_2))]);
  return two("Mul", two("Mul", x, number(0.5)), two("Add", bent, number(1)));
}

function rmsNormalize(x: string, axes: readonly number[], epsilon: number, writer: NodeWriter): string {
  const mean = writer.one("ReduceMean", [writer.one("Mul", [x, x]), writer.ints(axes)]);
  const deviation = writer.one("Sqrt", [writer.one("Add", [mean, writer.scalar(epsilon, "f32")])]);
  return writer.one("Div", [x, deviation]);
}
