/**
 * Defines how one graph node becomes ONNX nodes. A lowering takes the node, the ONNX names of its operands
 * and a writer to append to; it returns the names of the node's outputs. A backend that needs other nodes for
 * some ops (half precision emulated in f32, a kernel of its own) wraps the standard lowering and calls it
 * with a changed node: the same op with other types and operands.
 */
import type { AnyNode, DType, Graph, GraphNode, HostTensor, Op } from "@mp/graph";
import type { OnnxAttributes, OnnxGraph, StringMap } from "../model.js";

/** Appends nodes for a lowering. Names are unique in the model; initializers with equal content are merged. */
export interface NodeWriter {
  /**
   * Appends a node and returns the names of its outputs; there is one unless `options` says otherwise. The
   * first node with the graph node's own op gets that node's name; all others are helpers named after it.
   */
  emit(
    opType: string,
    inputs: readonly string[],
    attributes?: OnnxAttributes,
    options?: EmitOptions,
  ): readonly string[];
  /** Like `emit`, for a node with one output. */
  one(opType: string, inputs: readonly string[], attributes?: OnnxAttributes, options?: EmitOptions): string;
  /** Adds a Cast without saturation. */
  cast(name: string, to: DType): string;
  initializer(tensor: HostTensor): string;
  /** Adds an initializer of ONNX's uint32, which graphs do not have. */
  unsigned(values: Uint32Array<ArrayBuffer>, shape: readonly number[]): string;
  /** Adds a one-dimensional i64 initializer, the form of axes, shapes and pads. */
  ints(values: readonly number[]): string;
  /** Adds a scalar initializer, rounded once from f64; numbers beyond a float dtype's range become infinite. */
  scalar(value: number, dtype: DType): string;
  /** Like `scalar`, for an initializer of one dimension. */
  list(values: readonly number[], dtype: DType): string;
  /**
   * Writes a graph that is an attribute of a node. Its last inputs are not declared: the nodes read the outer
   * values with the names `given` instead.
   */
  body(graph: Graph, given: readonly string[]): OnnxGraph;
  /** Claims a name for an input of a body that no node reads. */
  unread(wanted: string): string;
  /** Whether ops that ONNX lacks are written in the domain `mp`, instead of being decomposed. */
  readonly keepsOwnOps: boolean;
}

export interface EmitOptions {
  /** Domain of the operator; default ONNX's own. */
  readonly domain?: string;
  /** Number of outputs; 1 unless given. */
  readonly outputs?: number;
  /** Metadata in addition to that of all nodes for the same graph node. */
  readonly metadata?: StringMap;
}

/** Writes one node. @returns the names of the node's outputs, in order */
export type Lowering<K extends Op = Op> = (
  node: GraphNode<K>,
  operands: readonly string[],
  writer: NodeWriter,
) => readonly string[];

export type LoweringTable<O extends Op = Op> = { readonly [K in O]: Lowering<K> };

/**
 * A lowering for any node; it may call the standard lowering, `standard`.
 * @returns the names of the node's outputs, in order
 */
export type LowerNode = (
  node: AnyNode,
  operands: readonly string[],
  writer: NodeWriter,
  standard: (node: AnyNode, operands: readonly string[]) => readonly string[],
) => readonly string[];

/** The name of an operand, which a validated graph always has. */
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
