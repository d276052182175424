/**
 * The data structure that all transformations read and write and all engines run: SSA values of static shape and dtype,
 * nodes in execution order. Immutable once built.
 */
import type { DType } from "../dtype.js";
import type { Shape } from "../shape.js";
import type { Op, OpAttributes } from "./attributes.js";

export interface ValueType {
  readonly dtype: DType;
  readonly shape: Shape;
}

/** One SSA value. Its identity is the object; `id` is unique in its graph and only for printing. */
export interface Value extends ValueType {
  readonly id: number;
}

export type Phase = "forward" | "loss" | "backward" | "update";

/** Where a node comes from. Policies select by it; errors, profiles and reports show it. */
export interface Origin {
  /** Path of name scopes, `encoder/layer0/attention`; empty at the top. */
  readonly scope: string;
  readonly phase: Phase;
  /** The user's line that made it, `file:line:column`. */
  readonly line?: string;
  /** Checkpoint segment: its values are recomputed in the backward pass instead of being kept. */
  readonly segment?: number;
  /** A casting policy has decided this node's dtypes; policies around it leave them alone. */
  readonly castSettled?: true;
  /** No gradient flows through it; set by `stopGradient`. */
  readonly stopsGradient?: true;
  /** Name of the forward node that a backward node is the gradient of. */
  readonly forward?: string;
}

export interface GraphNode<K extends Op = Op> {
  readonly op: K;
  /** Unique in its graph and the same in every run: scope, op and a counter. */
  readonly name: string;
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
  readonly attributes: OpAttributes[K];
  readonly origin: Origin;
}

/** A node as a discriminated union over its op, for code that switches on it. */
export type AnyNode = { readonly [K in Op]: GraphNode<K> }[Op];

/** `parameter` inputs are weak in casting: they take the dtype of the other operand. */
export type InputRole = "parameter" | "state" | "batch" | "capture";

export interface GraphInput {
  readonly name: string;
  readonly role: InputRole;
  readonly value: Value;
}

export interface GraphOutput {
  readonly name: string;
  readonly value: Value;
}

export interface Graph {
  readonly inputs: readonly GraphInput[];
  readonly nodes: readonly AnyNode[];
  readonly outputs: readonly GraphOutput[];
}

/** Narrows a node to one operator, so that its attributes have their types. */
export function isNode<K extends Op>(node: GraphNode, op: K): node is GraphNode<K> {
  return (node.op as Op) === op;
}

/** The node that makes each value; graph inputs have none. */
export function producers(graph: Pick<Graph, "nodes">): ReadonlyMap<Value, AnyNode> {
  const map = new Map<Value, AnyNode>();
  for (const node of graph.nodes) for (const output of node.outputs) map.set(output, node);
  return map;
}

/** The nodes that read each value, once per node. Values that are never read are absent. */
export function consumers(graph: Graph): ReadonlyMap<Value, readonly AnyNode[]> {
  const map = new Map<Value, AnyNode[]>();
  for (const node of graph.nodes) {
    for (const input of new Set(node.inputs)) {
      const list = map.get(input);
      if (list === undefined) map.set(input, [node]);
      else list.push(node);
    }
  }
  return map;
}
