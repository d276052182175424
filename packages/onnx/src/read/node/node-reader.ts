/** The interface through which one ONNX node is read. */
import type { HostTensor, Shape } from "@mp/core";
import type { Graph, Op, OpAttributes, Value, ValueType } from "@mp/core/graph";
import type { Invariant } from "../../invariants.js";
import type { OnnxGraph, OnnxNode } from "../../model.js";

/**
 * One output: a value of the graph; an i64 of the model that the graph keeps as i32, as it does all indices; a tensor
 * that is known now; or a sequence of values, which exists while the model is read only.
 */
export type NodeResult =
  | Value
  | { readonly narrow: Value }
  | { readonly constant: HostTensor }
  | { readonly sequence: readonly Value[] };

/** An input of a body; `name` is what it is called unless the model says otherwise. */
export type BodyInput = { readonly type: ValueType } | { readonly constant: HostTensor };

export interface ReadBody {
  /** Its inputs are those with types, then the captured ones. */
  readonly graph: Graph;
  /** Values of the graph around. */
  readonly captured: readonly Value[];
  /** The outputs that are known now, by their place. */
  readonly known: ReadonlyMap<number, HostTensor>;
}

/** Random numbers that a node needs: where a dropout keeps a value, or noise in f32. */
export type Draw = { readonly kind: "mask"; readonly rate: number } | { readonly kind: "normal" | "uniform" };

export interface NodeReader {
  readonly node: OnnxNode;
  /** Version of the operator set that the node is of. */
  readonly version: number;
  /** Whether the node is one of ours that was written as it was, and so comes back as it was. */
  readonly isVerbatim: boolean;
  /** The path of modules that the node is in, by its name. */
  readonly scope: string;
  /** @throws MP_PARSE when it is not given */
  operand(index: number): Value;
  optional(index: number): Value | undefined;
  /** The operand as the i32 that the graph has, where the model has i64; undefined where it has none. */
  narrow(index: number): Value | undefined;
  /** The values of an operand that is a sequence. */
  sequence(index: number): readonly Value[];
  /** The operand as i32, cast where it is i64. */
  indices(index: number): Value;
  /** An operand that the graph has as an attribute. @throws MP_UNSUPPORTED when its numbers are not known */
  constant(index: number): HostTensor | undefined;
  /** The operand where its numbers are known now. */
  known(index: number): HostTensor | undefined;
  /** `constant` as integers; undefined when it is not given. */
  integers(index: number): readonly number[] | undefined;
  /** Length of the list in the file, left-out operands included. */
  readonly operandCount: number;
  isGiven(index: number): boolean;
  /** The type that the model gives the operand, which does not bring it into the graph. */
  typeOf(index: number): ValueType;
  hasAttribute(name: string): boolean;
  int(name: string, otherwise?: number): number;
  bigint(name: string): bigint;
  ints(name: string): readonly number[] | undefined;
  /** `ints` to the last bit. */
  bigints(name: string): readonly bigint[] | undefined;
  float(name: string, otherwise?: number): number;
  floats(name: string): readonly number[] | undefined;
  string(name: string, otherwise: string): string;
  strings(name: string): readonly string[] | undefined;
  tensor(name: string): HostTensor | undefined;
  graph(name: string): OnnxGraph;
  /** Reads a graph that the node holds; each of its inputs is a value of that type or known now. */
  body(graph: OnnxGraph, inputs: readonly BodyInput[], captured?: readonly Invariant[]): ReadBody;
  /** Whether dropouts act, as they do in training; their masks are inputs. */
  readonly dropsOut: boolean;
  /** Random numbers of this node that are an input of the graph; undefined where the graph draws them. */
  drawn(draw: Draw, shape: Shape): Value | undefined;
  emit<K extends Op>(op: K, inputs: readonly Value[], attributes: OpAttributes[K]): readonly Value[];
  emitOne<K extends Op>(op: K, inputs: readonly Value[], attributes: OpAttributes[K]): Value;
  /** Refuses the node: `reason` follows its op, version and name. */
  unsupported(reason: string): never;
}

/** @returns the outputs in order; trailing ones that the node does not name may be more than it asks for */
export type ReadNode = (reader: NodeReader) => readonly NodeResult[];

export type ReaderTable<O extends Op = Op> = { readonly [K in O]: ReadNode };
