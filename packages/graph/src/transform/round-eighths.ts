import { type DType, type EighthDType, floatFormats, isEighth } from "../dtype.js";
import { formatRules } from "../float-format/format-rules.js";
import type { GraphBuilder } from "../graph/build/builder.js";
import { rewriteBodies, rewriteNodes } from "../graph/build/rewrite-nodes.js";
import { type AnyNode, type Graph, type GraphNode, isNode, type Origin, type Value } from "../graph/graph.js";
import { tensor } from "../host/host-tensor.js";

const isRounding = (node: AnyNode): node is GraphNode<"Cast"> & AnyNode =>
  isNode(node, "Cast") && isEighth(node.attributes.to) && !isEighth((node.inputs[0] as Value).dtype);

export interface EighthRounding {
  /** Whether numbers are also rounded before casts to f8 that remain. Default false. */
  readonly ofStored?: boolean;
  /** Called for each node of the new graph outside of loop bodies, with its name and the node that it is part of. */
  readonly onNode?: ((made: string, source: AnyNode) => void) | undefined;
}

/**
 * Replaces casts to f8 and back by arithmetic in f32 that gives the same bits, for engines whose casts to f8 are slow or
 * round wrongly. A cast to f8 remains where its result is read by anything but casts. Bodies of loops are included; a graph
 * without casts to f8 is returned unchanged.
 */
export function roundEighths(graph: Graph, { ofStored = false, onNode }: EighthRounding = {}): Graph {
  const loops = rewriteBodies(graph, (body) => roundEighths(body, { ofStored }));
  if (loops.size === 0 && !graph.nodes.some(isRounding)) return graph;
  const cast = new Set(graph.nodes.filter(({ op }) => op === "Cast").map(({ inputs: [x] }) => x));
  const stored = new Set(graph.outputs.map(({ value }) => value));
  const largest = new Map<Value, number>();
  for (const node of graph.nodes) {
    if (node.op !== "Cast") for (const value of node.inputs) stored.add(value);
    if (!isNode(node, "Clip")) continue;
    const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = node.attributes;
    largest.set(node.outputs[0] as Value, Math.max(Math.abs(min), Math.abs(max)));
  }
  const rounded = new Map<Value, Value>();
  return rewriteNodes(graph, {
    visit: (builder, node, inputs) => {
      const { op, attributes, name, origin } = loops.get(node) ?? node;
      const [x, made] = [node.inputs[0] as Value, node.outputs[0] as Value];
      const castTo = (value: Value, to: DType): Value =>
        value.dtype === to ? value : builder.emitOne("Cast", [value], { to }, origin);
      if (!isRounding(node)) {
        const near = op === "Cast" ? rounded.get(x) : undefined;
        return near === undefined
          ? builder.emit(op, inputs, attributes, origin, name)
          : [castTo(near, made.dtype)];
      }
      const { to } = node.attributes as { readonly to: EighthDType };
      let result = inputs[0] as Value;
      if (ofStored || cast.has(made)) {
        const most = largest.get(x) ?? Number.POSITIVE_INFINITY;
        result = emitRounded(builder, castTo(result, "f32"), { to, most, origin });
        rounded.set(made, result);
      }
      return stored.has(made) ? builder.emit("Cast", [result], { to }, origin, name) : [result];
    },
    onNode,
  });
}

interface Rounded {
  readonly to: EighthDType;
  /** No operand has a larger magnitude. */
  readonly most: number;
  readonly origin: Origin;
}

/** Rounds f32 to the nearest number of the dtype, ties to even; the result is still f32. */
function emitRounded(builder: GraphBuilder, x: Value, { to, most, origin }: Rounded): Value {
  const { minNormal, minSubnormal } = floatFormats[to];
  const { dropped, overflow, overflowsFromBits } = formatRules[to];
  const [overflowsFrom = 0] = new Float32Array(Int32Array.of(overflowsFromBits).buffer);
  const number = (value: number): Value =>
    builder.emitOne("Constant", [], { value: tensor(Float32Array.of(value), []) }, origin);
  const emit = (op: "Abs" | "Max" | "Mul" | "Sub" | "Where" | "GreaterOrEqual", ...inputs: Value[]): Value =>
    builder.emitOne(op, inputs, {}, origin);
  const size = emit("Abs", x);
  // Numbers of the anchor's exponent are as far apart as those of the dtype at x. The anchor is even wherever x is a tie.
  const anchor = emit("Mul", emit("Max", size, number(1.5 * minNormal)), number(2 ** dropped));
  const near = emit("Sub", anchor, emit("Sub", anchor, size));
  const isBeyond = (): Value => emit("GreaterOrEqual", size, number(overflowsFrom));
  const magnitude = most < overflowsFrom ? near : emit("Where", isBeyond(), number(overflow), near);
  // ±1, and for numbers that round to zero anything with their sign.
  const sign = builder.emitOne(
    "Clip",
    [emit("Mul", x, number(2 / minSubnormal))],
    { min: -1, max: 1 },
    origin,
  );
  return emit("Mul", magnitude, sign);
}
