import type { DType } from "@mp/core";
import type { Op } from "@mp/core/graph";
import type { RandomSource } from "../random-source.js";
import type { OpSample } from "./op-sample.js";

/**
 * Samples of one op in one dtype, for one case. Data is made when the case runs; shapes, dtypes and attributes do not
 * depend on the random numbers. A tensor that several samples hold is one input of the graph.
 */
export type GeneratedRow<K extends Op> = (dtype: DType, random: RandomSource) => readonly OpSample<K>[];
export type GeneratedRows<O extends Op> = { readonly [K in O]: GeneratedRow<K> };
