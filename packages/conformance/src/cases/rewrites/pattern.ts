/** Chains of operators that graph optimizers rewrite, as functions that emit them. */
import type { DType, HostTensor, Op, OpAttributes, Shape, Value } from "@mp/graph";
import type { RandomSource } from "../../random-source.js";

/** The operators without attributes. */
export type PlainOp = { [K in Op]: [keyof OpAttributes[K]] extends [never] ? K : never }[Op];

/** The elements of an operand; a function gets their places. */
export type Draw = "edges" | "whole" | "tame" | "distinct" | ((place: number) => number | bigint);

/** Emits a node of an operator; attributes come first, where it has any. */
type Emit<K extends Op> = K extends PlainOp
  ? (...operands: readonly Value[]) => Value
  : (attributes: OpAttributes[K], ...operands: readonly Value[]) => Value;

interface Operands {
  readonly dtype: DType;
  readonly random: RandomSource;
  /** Every edge number in x against every other in y. */
  readonly x: Value;
  readonly y: Value;
  /** Edge numbers in random order, of the shape of x and y. */
  readonly z: Value;
  /** Random elements that an integer may be divided by. */
  readonly divisor: Value;
  /** An operand of another shape or dtype. By default its elements differ from each other. */
  readonly of: (shape: Shape, draw?: Draw, dtype?: DType) => Value;
  /** An operand of random elements: edge numbers, small whole numbers, or positive numbers near 1. */
  readonly edges: (...shape: Shape) => Value;
  readonly whole: (...shape: Shape) => Value;
  readonly tame: (...shape: Shape) => Value;
  /** An operand of equal elements, or of those listed. */
  readonly filled: (x: number, ...shape: Shape) => Value;
  readonly listed: (numbers: readonly number[], ...shape: Shape) => Value;
  /** A number: a constant scalar, a row, a whole tensor, or a scalar that a run gets. */
  readonly c: (x: number) => Value;
  /** A tensor as an operand. */
  readonly held: (tensor: HostTensor) => Value;
  /** A constant. */
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

/** Tools that make a pattern. Each pattern has its own operands, or an engine would merge equal nodes. */
export type Kit = Operands & { readonly [K in Op]: Emit<K> };

export type Make = (kit: Kit) => Value | readonly Value[];

export interface Pattern {
  readonly make: Make;
  /** Dtypes, if they are not all of the table's. */
  readonly dtypes?: readonly DType[];
  /** How many times the sum of its nodes' tolerances a result may be off, where errors grow on the way. */
  readonly slack?: number;
  /** Whether the place of a constant factor decides what overflows, which may change for constant states. */
  readonly rescales?: boolean;
}

/** A pattern in some dtypes of its table. */
export const only = (dtypes: readonly DType[], make: Make): Pattern => ({ dtypes, make });

/** A pattern whose results may be off by so many times the sum of its nodes' tolerances. */
export const loose = (slack: number, make: Make): Pattern => ({ slack, make });

export interface PatternTable {
  readonly dtypes: readonly DType[];
  readonly patterns: Readonly<Record<string, Make | Pattern>>;
}

export const FLOATS: readonly DType[] = ["f32", "f16", "bf16"];
export const INTEGERS: readonly DType[] = ["i32", "i64", "u64", "u8"];
export const SIGNED: readonly DType[] = ["f32", "f16", "bf16", "i32", "i64"];
