/**
 * How one node of a graph becomes ONNX nodes. A lowering is a function of the node, the ONNX names of its operands
 * and a writer to append to; it gives the names that hold the node's outputs. A backend that needs other nodes for
 * some (half precision emulated in f32, a kernel of its own) wraps the standard lowering with one that calls it for a
 * counterpart: the same node with other types and other operands.
 */
import type { AnyNode, DType, Graph, GraphNode, HostTensor, Op } from "@mp/graph";
import type { OnnxAttributes, OnnxGraph, StringMap } from "../model.js";

/**
 * The interface through which a lowering appends nodes. Names are unique in the model; initializers of equal content
 * are one.
 */
export interface NodeWriter {
  /**
   * Appends a node and gives the names of its outputs, one unless told otherwise. The first node of the graph
   * node's own op bears its name; every other one is a helper, named after it.
   */
  emit(
    opType: string,
    inputs: readonly string[],
    attributes?: OnnxAttributes,
    options?: EmitOptions,
  ): readonly string[];
  /** `emit` of a node with one output. */
  one(opType: string, inputs: readonly string[], attributes?: OnnxAttributes, options?: EmitOptions): string;
  /** A Cast, saturating never. */
  cast(name: string, to: DType): string;
  initializer(tensor: HostTensor): string;
  /** An initializer of ONNX's uint32, which the graph does not have. */
  unsigned(values: Uint32Array<ArrayBuffer>, shape: readonly number[]): string;
  /** A one-dimensional i64 initializer, as axes, shapes and pads are given. */
  ints(values: readonly number[]): string;
  /** A scalar initializer, rounded once from f64; in a float dtype what is out of range is an infinity. */
  scalar(value: number, dtype: DType): string;
  /** Adds a constant of one dimension, like `scalar`. */
  list(values: readonly number[], dtype: DType): string;
  /**
   * A graph that a node holds, written as the graph around it is. Its last inputs are none: its nodes read the values of
   * the names `given` instead.
   */
  body(graph: Graph, given: readonly string[]): OnnxGraph;
  /** A name for an input of a body that none of its nodes reads. */
  unread(wanted: string): string;
  /** Whether ops of the `mp` domain stay nodes of that domain instead of being decomposed. */
  readonly keepsOwnOps: boolean;
}

export interface EmitOptions {
  /** Domain of the operator; default that of ONNX. */
  readonly domain?: string;
  /** Number of outputs; 1 unless given. */
  readonly outputs?: number;
  /** In addition to what every node of the lowered one carries. */
  readonly metadata?: StringMap;
}

/** @returns the names that hold the node's outputs, in order */
export type Lowering<K extends Op = Op> = (
  node: GraphNode<K>,
  operands: readonly string[],
  writer: NodeWriter,
) => readonly string[];

export type LoweringTable<O extends Op = Op> = { readonly [K in O]: Lowering<K> };

/**
 * A lowering for any node that may fall back on, or build upon, the standard one.
 * @returns the names that hold the node's outputs, in order
 */
export type LowerNode = (
  node: AnyNode,
  operands: readonly string[],
  writer: NodeWriter,
  standard: (node: AnyNode, operands: readonly string[]) => readonly string[],
) => readonly string[];

/** The operand at that place; a graph that was validated has it. */
export function operandAt(operands: readonly string[], index: number): string {
  const name = operands[index];
  if (name === undefined) throw new Error(`internal: operand ${index} is missing`);
  return name;
}

/** The type of a node's operand. */
export function typeAt(
  node: GraphNode,
  index: number,
): { readonly dtype: DType; readonly shape: readonly number[] } {
  const value = node.inputs[index];
  if (value === undefined) throw new Error(`internal: ${node.name} has no operand ${index}`);
  return value;
}
