import { type DType, type HalfDType, isHalf } from "../dtype.js";
import type { Op } from "../graph/attributes.js";
import { GraphBuilder } from "../graph/builder.js";
import { type AnyNode, type Graph, isNode, type Origin, type Value } from "../graph/graph.js";
import { emitWidened } from "./widen-halves.js";

/** Results are among the operands, or their negatives or integers: representable without rounding. */
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
 * The same graph for an engine that stores and converts the given halves but does not compute in them: every half
 * is carried in f32, and a pair of casts f32 → half → f32 stands at every place where the half would be rounded.
 * Bit for bit what the vocabulary says, since its operators compute in f32 and round once. Inputs and outputs of
 * the graph keep their dtype; a graph without such halves is given back as it is.
 * @param onNode told of each node of the new graph, by name, and of the node that it is a part of
 */
export function emulateHalves(graph: Graph, halves: readonly HalfDType[], onNode?: OnNode): Graph {
  const isAffected = ({ dtype }: Value): boolean => isHalf(dtype) && halves.includes(dtype);
  const isNeeded =
    graph.inputs.some(({ value }) => isAffected(value)) ||
    graph.nodes.some((node) => node.outputs.some(isAffected));
  return isNeeded ? new Emulation(graph, halves).run(onNode) : graph;
}

type OnNode = (made: string, source: AnyNode) => void;

class Emulation {
  readonly #graph: Graph;
  readonly #halves: readonly HalfDType[];
  readonly #builder = new GraphBuilder();
  /** What carries each value: f32 for the halves, the value's own dtype for the rest. */
  readonly #twins = new Map<Value, Value>();

  constructor(graph: Graph, halves: readonly HalfDType[]) {
    this.#graph = graph;
    this.#halves = halves;
  }

  run(onNode: OnNode | undefined): Graph {
    for (const { name, role, value } of this.#graph.inputs) {
      const input = this.#builder.input(name, value, role);
      this.#twins.set(value, this.#isEmulated(value.dtype) ? this.#cast(input, "f32", undefined) : input);
    }
    for (const node of this.#graph.nodes) {
      const from = this.#builder.nodes.length;
      this.#visit(node);
      if (onNode === undefined) continue;
      for (const made of this.#builder.nodes.slice(from)) onNode(made.name, node);
    }
    const outputs = this.#graph.outputs.map(({ name, value }) => {
      const twin = this.#twin(value);
      return [name, twin.dtype === value.dtype ? twin : this.#cast(twin, value.dtype, undefined)] as const;
    });
    return this.#builder.finish(new Map(outputs));
  }

  #visit(node: AnyNode): void {
    const inputs = node.inputs.map((value) => this.#twin(value));
    if (isNode(node, "Cast") && this.#isEmulated(node.attributes.to)) {
      const rounded = this.#rounded(inputs[0] as Value, node.attributes.to, node.origin);
      this.#twins.set(node.outputs[0] as Value, rounded);
      return;
    }
    const results = emitWidened(this.#builder, node, inputs, (dtype) => this.#isEmulated(dtype));
    node.outputs.forEach((value, index) => {
      const result = results[index] as Value;
      const needsRounding = this.#isEmulated(value.dtype) && !isExact(node);
      this.#twins.set(value, needsRounding ? this.#rounded(result, value.dtype, node.origin) : result);
    });
  }

  #rounded(value: Value, half: DType, origin: Origin): Value {
    return this.#cast(this.#cast(value, half, origin), "f32", origin);
  }

  #cast(value: Value, to: DType, origin: Origin | undefined): Value {
    return this.#builder.emitOne("Cast", [value], { to }, origin);
  }

  #isEmulated(dtype: DType): boolean {
    return isHalf(dtype) && this.#halves.includes(dtype);
  }

  #twin(value: Value): Value {
    const twin = this.#twins.get(value);
    if (twin === undefined) throw new Error(`internal: value %${value.id} is used before it is made`);
    return twin;
  }
}
