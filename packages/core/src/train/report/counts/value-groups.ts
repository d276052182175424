import {
  type AnyNode,
  type ComputeDType,
  consumers,
  type Graph,
  isComputeFloat,
  isHalf,
  isNode,
  type Op,
  opTable,
  producers,
  type Value,
} from "@mp/graph";

/**
 * Kinds of values. `gradients` are the intermediate values of the backward pass, scaled by the loss scale; `weight
 * gradients` are its results; `activations` are all other computed values, including derivatives of activations.
 */
export const VALUE_KINDS = ["weights", "activations", "gradients", "weight gradients"] as const;
export type ValueKind = (typeof VALUE_KINDS)[number];

/** Values that are counted together. */
export interface ValueGroup {
  readonly kind: ValueKind;
  /** Scope path; for weights and their gradients, the parameter's path. */
  readonly layer: string;
  /** The layer as reports show it, if different: `0 dense` for `0/dense`. Different labels make different groups. */
  readonly label?: string;
  /** The dtype that the casting policy keeps the values in; for weights, the dtype that they are multiplied in. */
  readonly dtype: ComputeDType;
}

/** Name of the input for the loss scale. */
export const SCALE = "scale";
/** Prefixes of the outputs that are weights and their gradients; the parameter's path follows. */
const WEIGHTS = "weights/";
const GRADIENTS = "gradients/";

/** Whether an operator only moves numbers. A look-up is counted, since its table is not an activation. */
function movesOnly(op: Op): boolean {
  const { moves } = opTable[op];
  return moves !== undefined && moves !== "looks-up";
}

/** The group of every float value that is counted: once, and again where it is rounded to a half dtype. */
export function valueGroups(graph: Graph): ReadonlyMap<Value, ValueGroup> {
  const groups = new Map<Value, ValueGroup>();
  const makers = producers(graph);
  const readers = consumers(graph);
  const isWeight = new Set<Value>();
  for (const { name, value } of graph.outputs) {
    const maker = makers.get(value);
    // A gradient computed in a half dtype is widened for the update.
    const held = maker !== undefined && isNode(maker, "Cast") ? (maker.inputs[0] as Value) : value;
    if (name.startsWith(WEIGHTS)) {
      const copy = (readers.get(held) ?? []).find((node) => node.op === "Cast" && isHalf(outputDType(node)));
      const dtype = (copy === undefined ? held.dtype : outputDType(copy)) as ComputeDType;
      groups.set(held, { kind: "weights", layer: name.slice(WEIGHTS.length), dtype });
      isWeight.add(held);
    } else if (name.startsWith(GRADIENTS)) {
      const dtype = held.dtype as ComputeDType;
      groups.set(held, { kind: "weight gradients", layer: name.slice(GRADIENTS.length), dtype });
    }
  }
  const scaled = new Set(graph.inputs.flatMap(({ name, value }) => (name === SCALE ? [value] : [])));
  for (const node of graph.nodes) {
    const isScaled = node.inputs.some((value) => scaled.has(value));
    if (isScaled) for (const value of node.outputs) scaled.add(value);
    if (movesOnly(node.op) || (node.op === "Cast" && !isRounding(node, isWeight))) continue;
    const kind = isScaled ? "gradients" : "activations";
    for (const value of node.outputs) {
      if (!isComputeFloat(value.dtype) || groups.has(value)) continue;
      const { scope, label } = node.origin;
      groups.set(value, {
        kind,
        layer: scope,
        ...(label === undefined ? {} : { label }),
        dtype: value.dtype,
      });
    }
  }
  return groups;
}

const outputDType = (node: AnyNode) => node.outputs[0]?.dtype ?? "f32";

/** Whether the node rounds an f32 value to a half dtype. */
function isRounding(node: AnyNode, isWeight: ReadonlySet<Value>): boolean {
  const [from] = node.inputs;
  return from?.dtype === "f32" && isHalf(outputDType(node)) && !isWeight.has(from);
}
