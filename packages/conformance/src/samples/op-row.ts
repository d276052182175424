import type { Op, OpOf } from "@mp/graph";
import type { Draws } from "../host-data.js";
import type { AxisOp, AxisSamples } from "./axis-data.js";
import type { Gradients } from "./gradient-sample.js";
import type { OpSample, Sampled } from "./op-sample.js";
import type { RareRow } from "./rare-row.js";
import type { OptionOp, Options } from "./setting.js";

/**
 * Samples of one op in one dtype, for one case. Data is made when the case runs; shapes, dtypes and attributes do not
 * depend on the random numbers. A tensor that several samples share is one input of the graph.
 */
export type GeneratedRow<K extends Op> = (draws: Draws) => readonly OpSample<K>[];

/** Samples in the first dtype of the op, which is mostly f32; data is made when the case runs. */
export type SizeRow<K extends Op> = () => readonly OpSample<K>[];

/** The samples that every op has. */
export interface CommonRow<K extends Op> {
  /** Samples by behavior, in every dtype. */
  readonly samples: Sampled<K>;
  /** Samples above each size at which engines switch to other code. */
  readonly sizes: SizeRow<K>;
  readonly gradients: Gradients;
  readonly rare?: readonly RareRow<K>[];
}

/** Operators with samples at every length from 1 to 70. Casts have separate ones. */
type TailOp = Exclude<Op, "Cast">;

/** Operators with separate samples on tensors of equal sides. `AxisOp`s run their axis samples on cubes instead. */
type SideOp = Exclude<Op, OpOf<"unary" | "source"> | AxisOp> | "MatMul";

type If<K extends Op, O extends Op, T> = K extends O ? T : unknown;

/** All samples of one op. A new op does not compile without the samples that its attributes and family require. */
export type OpRow<K extends Op> = CommonRow<K> &
  If<K, TailOp, { readonly tails: GeneratedRow<K> }> &
  /** Samples along each axis alone, and along each pair of axes. */
  If<K, AxisOp, { readonly axes: AxisSamples<K> }> &
  /** Samples on tensors whose sides are all equal. */
  If<K, SideOp, { readonly sides: GeneratedRow<K> }> &
  /** Samples with each value of each attribute, and each pair of values. */
  If<K, OptionOp, { readonly options: Options<K> }>;

export type OpTable<O extends Op> = { readonly [K in O]: OpRow<K> };
