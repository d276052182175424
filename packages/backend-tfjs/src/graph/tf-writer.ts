/**
 * The interface through which lowerings append TensorFlow nodes. Names of results are `node` or `node:1`, as a GraphDef
 * spells them.
 */
import type { DType, HostTensor } from "@mp/core";
import type { Graph, GraphNode, Op } from "@mp/core/graph";

/** A TensorFlow dtype: ours, and those that only TensorFlow's own nodes need. */
export type TfDType = DType | "f64" | "u16" | "i8" | "i16" | "u32" | "resource";

export type TfAttribute =
  | { readonly kind: "type"; readonly value: TfDType }
  | { readonly kind: "types"; readonly value: readonly TfDType[] }
  | { readonly kind: "int"; readonly value: number }
  | { readonly kind: "ints"; readonly value: readonly number[] }
  | { readonly kind: "float"; readonly value: number }
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "shape"; readonly value: readonly number[] }
  | { readonly kind: "tensor"; readonly value: HostTensor };

export type TfAttributes = Readonly<Record<string, TfAttribute>>;

export const type = (value: TfDType): TfAttribute => ({ kind: "type", value });
export const types = (value: readonly TfDType[]): TfAttribute => ({ kind: "types", value });
export const int = (value: number): TfAttribute => ({ kind: "int", value });
export const ints = (value: readonly number[]): TfAttribute => ({ kind: "ints", value });
export const float = (value: number): TfAttribute => ({ kind: "float", value });
export const bool = (value: boolean): TfAttribute => ({ kind: "bool", value });
export const string = (value: string): TfAttribute => ({ kind: "string", value });
export const shape = (value: readonly number[]): TfAttribute => ({ kind: "shape", value });

export interface EmitOptions {
  /** Number of results; 1 unless given. */
  readonly outputs?: number;
  /** Nodes that must run before, in addition to those whose results are read. */
  readonly after?: readonly string[];
}

/** A value that changes from step to step of a loop. */
export interface LoopVariable {
  readonly dtype: TfDType;
  readonly start: string;
}

/**
 * The parts of a loop's lowering; names that it gets and gives are those inside of the loop, except for the variables'
 * starts.
 */
export interface LoopParts {
  readonly variables: readonly LoopVariable[];
  /** Values of outside that are the same in each step. */
  readonly invariants: readonly LoopVariable[];
  /** A scalar bool of the variables: whether there is another step. */
  readonly goesOn: (variables: readonly string[]) => string;
  /** The variables after a step. */
  readonly step: (variables: readonly string[], invariants: readonly string[]) => readonly string[];
}

export interface TfWriter {
  /** Appends a node, named after the graph node that is being lowered, and returns the names of its results. */
  emit(
    op: string,
    inputs: readonly string[],
    attributes?: TfAttributes,
    options?: EmitOptions,
  ): readonly string[];
  /** `emit` of a node with one result. */
  one(op: string, inputs: readonly string[], attributes?: TfAttributes, options?: EmitOptions): string;
  cast(name: string, from: TfDType, to: TfDType): string;
  /** A name for a result whose nodes are appended when a node first reads it, and not at all if none does. */
  defer(make: () => string): string;
  /** A loop; returns the names of its variables after the last step. */
  loop(parts: LoopParts): readonly string[];
  /** The nodes of a graph that a node holds, whose inputs have those names; returns the names of its outputs. */
  body(graph: Graph, inputs: readonly string[]): readonly string[];
  /** A Const; constants with equal content share one node. */
  constant(tensor: HostTensor): string;
  /** A one-dimensional i32 Const, as axes, shapes and pads are given. */
  ints(values: readonly number[]): string;
  /** A scalar Const, rounded once from f64. */
  scalar(value: number, dtype: DType): string;
}

/** @returns the names that hold the node's outputs, in order */
export type Lowering<K extends Op = Op> = (
  node: GraphNode<K>,
  operands: readonly string[],
  writer: TfWriter,
) => readonly string[];

export type LoweringTable<O extends Op = Op> = { readonly [K in O]: Lowering<K> };
