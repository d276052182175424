/** The form in which tables give chains of operators that graph optimizers rewrite: functions that emit the nodes. */
import type { DType, HostTensor, Op, OpAttributes, Shape, Value } from "@mp/graph";
import type { RandomSource } from "../../random-source.js";

/** Operators without attributes. */
export type PlainOp = { [K in Op]: [keyof OpAttributes[K]] extends [never] ? K : never }[Op];

/** The elements of an operand, by name or as a function of the position. */
export type Draw = "edges" | "whole" | "tame" | "distinct" | ((place: number) => number | bigint);

/** Emits a node of one operator; attributes come first, if it has any. */
type Emit<K extends Op> = K extends PlainOp
  ? (...operands: readonly Value[]) => Value
  : (attributes: OpAttributes[K], ...operands: readonly Value[]) => Value;

interface Operands {
  readonly dtype: DType;
  readonly random: RandomSource;
  /** Whether the backend flushes subnormal numbers of this dtype. */
  readonly flushes: boolean;
  /** Operands that pair every edge number in x with every edge number in y. */
  readonly x: Value;
  readonly y: Value;
  /** Edge numbers in random order, in the shape of x and y. */
  readonly z: Value;
  /** Random elements by which integers may be divided. */
  readonly divisor: Value;
  /** An operand of another shape or dtype. By default its elements differ from each other. */
  readonly of: (shape: Shape, draw?: Draw, dtype?: DType) => Value;
  /** An operand of random elements: edge numbers, small whole numbers, or positive numbers near 1. */
  readonly edges: (...shape: Shape) => Value;
  readonly whole: (...shape: Shape) => Value;
  readonly tame: (...shape: Shape) => Value;
  /** An operand whose elements are all `x`, or those of a list. */
  readonly filled: (x: number, ...shape: Shape) => Value;
  readonly listed: (numbers: readonly number[], ...shape: Shape) => Value;
  /** A number in one of several forms: a constant scalar, row or whole tensor, or a scalar that is fed. */
  readonly c: (x: number) => Value;
  /** A tensor as an operand, in the place where this graph has operands: an input, a constant, a slot … */
  readonly held: (tensor: HostTensor) => Value;
  readonly constant: (tensor: HostTensor) => Value;
  /** All results of a node. */
  readonly all: <K extends Op>(
    op: K,
    attributes: OpAttributes[K],
    ...operands: readonly Value[]
  ) => readonly Value[];
  /** The first result of a node. */
  readonly by: <K extends Op>(op: K, attributes: OpAttributes[K], ...operands: readonly Value[]) => Value;
}

/** Tools that emit the nodes of a pattern. Each pattern has separate operands, since engines merge equal nodes. */
export type Kit = Operands & { readonly [K in Op]: Emit<K> };

export type Make = (kit: Kit) => Value | readonly Value[];

export interface Pattern {
  readonly make: Make;
  /** The dtypes of this pattern; default all of the table's. */
  readonly dtypes?: readonly DType[];
  /** Allowed error as a multiple of the nodes' tolerances together, for chains in which errors grow; default 1. */
  readonly slack?: number;
}

/** A pattern for some dtypes of its table. */
export const only = (dtypes: readonly DType[], make: Make): Pattern => ({ dtypes, make });

/** A pattern with the given slack. */
export const loose = (slack: number, make: Make): Pattern => ({ slack, make });

export interface PatternTable {
  readonly dtypes: readonly DType[];
  readonly patterns: Readonly<Record<string, Make | Pattern>>;
}

export const FLOATS: readonly DType[] = ["f32", "f16", "bf16"];
export const INTEGERS: readonly DType[] = ["i32", "i64", "u64", "u8"];
export const SIGNED: readonly DType[] = ["f32", "f16", "bf16", "i32", "i64"];
