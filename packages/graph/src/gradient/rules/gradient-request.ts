import type { GraphBuilder } from "../../graph/build/builder.js";
import type { Graph, Value } from "../../graph/graph.js";

/** The part of a graph to differentiate. */
export interface GradientRequest {
  /** The forward graph; the builder already has a copy of it. */
  readonly graph: Graph;
  /** The builder's value for every value of `graph` and its name for every node, as `inlineAll` returns them. */
  readonly values: ReadonlyMap<Value, Value>;
  readonly names: ReadonlyMap<string, string>;
  /** Floating values of `graph`, each with its initial gradient: a value of the builder, of the same type. */
  readonly seeds: readonly (readonly [value: Value, gradient: Value])[];
  /** Values of `graph` to differentiate with respect to; f32, f16 or bf16. */
  readonly wrt: readonly Value[];
  /** Values whose gradient is the maximum of its contributions instead of their sum. */
  readonly maxima?: ReadonlySet<Value>;
}

/** The gradient of one value in `wrt`, in that value's shape and dtype. */
export interface EmittedGradient {
  readonly value: Value;
  /** Whether gradients flow from the loss to the value; if not, the gradient is zeros. */
  readonly isReached: boolean;
}

/** Appends the backward pass of a graph and returns the gradient of each value in `wrt`. */
export type Differentiate = (builder: GraphBuilder, request: GradientRequest) => readonly EmittedGradient[];
