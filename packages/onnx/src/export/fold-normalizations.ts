// Folds factors and shifts of channels after a convolution, as of a normalization by running statistics, into the
// convolution's weights and bias, where nothing else reads the values between.
import {
  type AnyNode,
  consumers,
  type FloatDType,
  type Graph,
  type GraphNode,
  type HostTensor,
  isFloat,
  isNode,
  roundTo,
  type Value,
} from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { literals } from "../literals.js";
import { toNumbers } from "../numbers.js";
import { freeName, type TracedModel } from "./traced-model.js";

/** One step of a node chain after a convolution. The whole chain computes x · scale + shift per channel. */
interface Step {
  readonly op: "Add" | "Sub" | "Mul" | "Div";
  /** One number per channel, or a single number. */
  readonly operand: Value;
}

interface Chain {
  readonly conv: GraphNode<"Conv">;
  readonly steps: readonly Step[];
  /** The last value of the chain; readers get the folded convolution's result instead. */
  readonly end: Value;
}

/** Folds normalizations into the convolutions before them, whose weights are then rounded once more. */
export function foldNormalizations({ graph, weights }: TracedModel): TracedModel {
  const own = graph.inputs.length - weights.length;
  const constant = constantValues(graph, own);
  const chains = findChains(graph, constant);
  if (chains.length === 0) return { graph, weights };
  const values = evaluateConstants(graph, own, weights, chains);
  const replaced = new Map<Value, Value>();
  const made = new Map<AnyNode, readonly AnyNode[]>();
  const inputs = [...graph.inputs];
  const tensors = [...weights];
  const names = new Set([...inputs, ...graph.outputs].map(({ name }) => name));
  const all = [...inputs.map(({ value }) => value), ...graph.nodes.flatMap(({ outputs }) => outputs)];
  let id = all.reduce((most, value) => Math.max(most, value.id), 0);
  for (const chain of chains) {
    const { conv, end } = chain;
    const [x, kernel] = conv.inputs as readonly [Value, Value];
    const [output] = conv.outputs as readonly [Value];
    const folded = foldWeights(chain, values);
    if (folded === undefined) continue;
    const named = graph.inputs.find(({ value }) => value === kernel)?.name ?? conv.name;
    const operands = [
      ["", folded.weights],
      ["_bias", folded.bias],
    ] as const;
    const added = operands.map(([part, tensor]): Value => {
      const value = { id: ++id, dtype: tensor.dtype, shape: tensor.shape };
      inputs.push({ name: freeName(`${named}_folded${part}`, names), role: "parameter", value });
      tensors.push(tensor);
      return value;
    });
    const inItsPlace = { ...conv, inputs: [x, ...added] } as AnyNode;
    if (end.dtype === output.dtype) {
      made.set(conv, [inItsPlace]);
      replaced.set(end, output);
      continue;
    }
    const value = { ...end, id: ++id };
    const attributes = { to: end.dtype };
    const cast = { op: "Cast", name: `${conv.name}_folded`, inputs: [output], outputs: [value], attributes };
    made.set(conv, [inItsPlace, { ...cast, origin: conv.origin } as AnyNode]);
    replaced.set(end, value);
  }
  const at = (value: Value): Value => replaced.get(value) ?? value;
  const nodes = graph.nodes.flatMap((node) =>
    (made.get(node) ?? [node]).map((each) => ({ ...each, inputs: each.inputs.map(at) }) as AnyNode),
  );
  const outputs = graph.outputs.map((output) => ({ ...output, value: at(output.value) }));
  return { graph: { ...graph, inputs, nodes, outputs }, weights: tensors };
}

/** Largest rounding error of a folded weight, relative to the largest weight of its channel. */
const MOST_LOST = 2 ** -7;

/** Whether a dtype holds these numbers, in channels of `size`, without overflow or much loss to underflow. */
function isHeld(numbers: readonly number[], dtype: FloatDType, size: number): boolean {
  for (let begin = 0; begin < numbers.length; begin += size) {
    const channel = numbers.slice(begin, begin + size);
    const largest = channel.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
    if (!channel.every((each) => Math.abs(roundTo(dtype, each) - each) <= MOST_LOST * largest)) return false;
  }
  return true;
}

/** Finds the values that depend only on weights. */
function constantValues({ inputs, nodes }: Graph, own: number): ReadonlySet<Value> {
  const constant = new Set(inputs.slice(own).map(({ value }) => value));
  for (const node of nodes)
    if (node.op !== "RandomBits" && node.inputs.every((value) => constant.has(value)))
      for (const output of node.outputs) constant.add(output);
  return constant;
}

function findChains(graph: Graph, constant: ReadonlySet<Value>): readonly Chain[] {
  const readers = consumers(graph);
  const given = new Set(graph.outputs.map(({ value }) => value));
  return graph.nodes.flatMap((node): readonly Chain[] => {
    if (!isNode(node, "Conv")) return [];
    if (!node.inputs.slice(1).every((value) => constant.has(value))) return [];
    const [output] = node.outputs;
    if (output === undefined) return [];
    const steps: Step[] = [];
    let end = output;
    for (let now = output; ; ) {
      const [reader, ...others] = readers.get(now) ?? [];
      if (reader === undefined || others.length > 0 || given.has(now)) break;
      const step = readStep(reader, now, constant);
      const [next] = reader.outputs;
      const isCast = isNode(reader, "Cast") && isFloat(reader.attributes.to);
      if (next === undefined || (step === undefined && !isCast)) break;
      if (step !== undefined) steps.push(step);
      now = next;
      // A cast belongs to a chain if a step follows it, or if it leads back to the convolution's dtype.
      if (step !== undefined || now.dtype === output.dtype) end = now;
    }
    return steps.some(({ op }) => op === "Mul" || op === "Div") ? [{ conv: node, steps, end }] : [];
  });
}

function readStep(node: AnyNode, of: Value, constant: ReadonlySet<Value>): Step | undefined {
  const { op, inputs } = node;
  if (op !== "Add" && op !== "Sub" && op !== "Mul" && op !== "Div") return undefined;
  const [left, right] = inputs as readonly [Value, Value];
  const isLeft = left === of;
  const operand = isLeft ? right : left;
  if (operand === of || (!isLeft && (op === "Sub" || op === "Div"))) return undefined;
  return constant.has(operand) && isByChannel(operand.shape, of.shape) ? { op, operand } : undefined;
}

/** Whether a shape broadcasts to `to`, [N, C, …], with one element or one per channel. */
function isByChannel(shape: readonly number[], to: readonly number[]): boolean {
  const channel = shape.length - to.length + 1;
  return (
    shape.length <= to.length &&
    shape.every((size, axis) => size === 1 || (axis === channel && size === to[1]))
  );
}

type Numbers = ReadonlyMap<Value, readonly number[]>;

function numbersIn(values: Numbers, value: Value): readonly number[] {
  const found = values.get(value);
  if (found === undefined) throw new Error("internal: a constant was not evaluated");
  return found;
}

/** Folds the steps into the convolution's weights and bias; undefined if the dtype cannot hold the folded numbers. */
function foldWeights(
  { conv, steps }: Chain,
  values: Numbers,
): { readonly weights: HostTensor; readonly bias: HostTensor } | undefined {
  const [, kernel, bias] = conv.inputs as readonly [Value, Value, Value?];
  const { dtype, shape } = kernel;
  const channels = shape[0] as number;
  const { scale, shift } = foldSteps(channels, steps, values);
  const weights = numbersIn(values, kernel);
  const size = weights.length / channels;
  const scaled = weights.map((each, at) => each * (scale[Math.floor(at / size)] as number));
  const before = bias === undefined ? undefined : numbersIn(values, bias);
  const shifted = shift.map((each, at) => each + (before?.[at] ?? 0) * (scale[at] as number));
  if (!isFloat(dtype) || !isHeld(scaled, dtype, size) || !isHeld(shifted, dtype, 1)) return undefined;
  return { weights: literals(scaled, dtype, shape), bias: literals(shifted, dtype, [channels]) };
}

function foldSteps(
  channels: number,
  steps: readonly Step[],
  values: Numbers,
): { readonly scale: readonly number[]; readonly shift: readonly number[] } {
  const scale = new Array<number>(channels).fill(1);
  const shift = new Array<number>(channels).fill(0);
  for (const { op, operand } of steps) {
    const numbers = numbersIn(values, operand);
    for (let at = 0; at < channels; at++) {
      const number = numbers[numbers.length === 1 ? 0 : at] as number;
      if (op === "Add" || op === "Sub") shift[at] = (shift[at] as number) + (op === "Add" ? number : -number);
      else {
        const factor = op === "Mul" ? number : 1 / number;
        scale[at] = (scale[at] as number) * factor;
        shift[at] = (shift[at] as number) * factor;
      }
    }
  }
  return { scale, shift };
}

/** Evaluates all constants that the chains read. */
function evaluateConstants(
  graph: Graph,
  own: number,
  weights: readonly HostTensor[],
  chains: readonly Chain[],
): Numbers {
  const wanted = [
    ...new Set(
      chains.flatMap(({ conv, steps }) => [...conv.inputs.slice(1), ...steps.map(({ operand }) => operand)]),
    ),
  ];
  const needed = new Set(wanted);
  const nodes: AnyNode[] = [];
  for (const node of graph.nodes.toReversed()) {
    if (!node.outputs.some((value) => needed.has(value))) continue;
    nodes.unshift(node);
    for (const value of node.inputs) needed.add(value);
  }
  const held = graph.inputs
    .slice(own)
    .flatMap((input, at) =>
      needed.has(input.value)
        ? [{ input: { ...input, name: `w${at}` }, tensor: weights[at] as HostTensor }]
        : [],
    );
  const part = {
    ...graph,
    inputs: held.map(({ input }) => input),
    nodes,
    outputs: wanted.map((value, at) => ({ name: `v${at}`, value })),
  };
  const found = evaluate(part, Object.fromEntries(held.map(({ input, tensor }) => [input.name, tensor])));
  return new Map(wanted.map((value, at) => [value, toNumbers(found[`v${at}`] as HostTensor)]));
}
