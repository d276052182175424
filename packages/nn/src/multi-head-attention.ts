import { foldIn, type HostTensor, isTensor, type Key, scope, type Tensor, zeros } from "@mp/core";
import {
  add,
  attention,
  lessOrEqual,
  matMul,
  mul,
  range,
  reshape,
  softmax,
  transpose,
  where,
} from "@mp/core/ops";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { dropout } from "./dropout.js";
import { invalid, mismatch } from "./errors.js";
import { glorotUniform, type Initializer } from "./initializers.js";
import type { Layer, LayerContext, Parameters } from "./layer.js";
import { checkSizes, initializer } from "./option-kinds.js";

type Projection = { readonly kernel: HostTensor<"f32">; readonly bias: HostTensor<"f32"> };

/** Kernels [size, size], biases [size]; heads are adjacent along the last axis. */
export type AttentionParameters = {
  readonly query: Projection;
  readonly key: Projection;
  readonly value: Projection;
  readonly output: Projection;
};

/** The input, and optionally another sequence to attend to. */
export interface AttentionInput {
  /** [batch, time, size] */
  readonly x: Tensor;
  /** [batch, memory, size]; default x itself. */
  readonly memory?: Tensor;
  /**
   * bool, true where x may attend; the shape broadcasts to [batch, heads, time, memory]. Every row needs a true
   * element.
   */
  readonly mask?: Tensor;
}

export interface AttentionOptions {
  /** Whether positions attend only to themselves and earlier ones; default false. */
  readonly isCausal?: boolean;
  /** Dropout rate of the attention weights in training; default 0. */
  readonly dropout?: number;
  /**
   * Whether the layer calls the operator `attention` instead of two products and a softmax; default false. An engine
   * may have one kernel for the operator (cuDNN's through `xla({ flashAttention: true })`). It has no dropout.
   */
  readonly fused?: boolean;
  /** Initializer of all four projections; default `glorotUniform`. */
  readonly kernel?: Initializer;
}

const ATTENTION = {
  isCausal: withDefault(false, checks.truth),
  dropout: (_: string, rate: unknown) => void (rate === undefined || dropout(rate as number)),
  fused: withDefault(false, checks.truth),
  kernel: withDefault(glorotUniform, initializer),
};

/**
 * Multi-head attention (Vaswani et al., arXiv 1706.03762), which keeps the shape [batch, time, size]. Takes a
 * tensor, or `{ x, memory, mask }` to attend to another sequence. The softmax is in f32 if the policy would
 * lose digits. Queries are scaled before the product with keys, which could overflow in f16.
 * @throws MP_INVALID_ARGUMENT for a size that is not divisible by the number of heads, or a fused layer with a dropout;
 *   MP_SHAPE_MISMATCH for other inputs
 */
export function multiHeadAttention(
  size: number,
  heads: number,
  options: AttentionOptions = {},
): Layer<AttentionParameters, Tensor | AttentionInput> {
  checkSizes("multiHeadAttention", { size, heads });
  const read = readOptions("multiHeadAttention", options, ATTENTION, { example: "{ isCausal: true }" });
  if (size % heads !== 0) {
    throw invalid(`multiHeadAttention: ${heads} heads do not divide a size of ${size}`);
  }
  const { isCausal, kernel, fused } = read;
  if (fused && read.dropout) {
    throw invalid(
      `multiHeadAttention: a fused layer has no dropout of its attention weights, got ${read.dropout}; drop out its result instead`,
    );
  }
  const drop = read.dropout === undefined ? undefined : dropout(read.dropout);
  const projection = (key: Key): Projection => ({
    kernel: kernel(foldIn(key, "kernel"), [size, size], size, size),
    bias: zeros([size]),
  });
  const apply = (
    parameters: Parameters<AttentionParameters>,
    input: Tensor | AttentionInput,
    context?: LayerContext,
  ): Tensor => {
    const { x, memory = x, mask } = isTensor(input) ? { x: input } : input;
    const [batch, time] = expectSequence("x", x, size);
    const [others, length] = expectSequence("memory", memory, size);
    if (others !== batch) {
      throw mismatch(`multiHeadAttention: x has a batch of ${batch}, memory of ${others}`);
    }
    const project = (source: Tensor, part: Parameters<Projection>): Tensor =>
      add(matMul(source, part.kernel), part.bias);
    const split = (source: Tensor, count: number, order: readonly number[]): Tensor =>
      transpose(reshape(source, [batch, count, heads, size / heads]), order);
    const order = [0, 2, 1, 3];
    /** Computes attention by two products and a softmax. */
    const written = (): Tensor => {
      const scale = 1 / Math.sqrt(size / heads);
      const query = split(mul(project(x, parameters.query), scale), time, order);
      const key = split(project(memory, parameters.key), length, [0, 2, 3, 1]);
      const value = split(project(memory, parameters.value), length, order);
      let scores = matMul(query, key);
      if (mask !== undefined) scores = where(mask, scores, Number.NEGATIVE_INFINITY);
      if (isCausal) scores = where(isPast(time, length), scores, Number.NEGATIVE_INFINITY);
      const shares = softmax(scores);
      return matMul(drop === undefined ? shares : drop.apply({}, shares, context), value);
    };
    const byOperator = (): Tensor =>
      attention(
        split(project(x, parameters.query), time, order),
        split(project(memory, parameters.key), length, order),
        split(project(memory, parameters.value), length, order),
        { isCausal, ...(mask === undefined ? {} : { mask }) },
      );
    const mixed = transpose(fused ? byOperator() : written(), order);
    return project(reshape(mixed, [batch, time, size]), parameters.output);
  };
  return {
    name: "multiHeadAttention",
    init: (key) => ({
      query: projection(foldIn(key, "query")),
      key: projection(foldIn(key, "key")),
      value: projection(foldIn(key, "value")),
      output: projection(foldIn(key, "output")),
    }),
    apply: (parameters, input, context) =>
      scope("multiHeadAttention", () => apply(parameters, input, context)),
  };
}

/** The causal mask, bool [time, memory]: true where the key's position is at most the query's position. */
export function isPast(time: number, memory: number): Tensor {
  return lessOrEqual(range(0, memory), reshape(range(0, time), [time, 1]));
}

function expectSequence(name: string, x: Tensor, size: number): readonly [number, number] {
  const [batch, time, last] = x.shape;
  if (x.shape.length === 3 && batch !== undefined && time !== undefined && last === size)
    return [batch, time];
  throw mismatch(`multiHeadAttention: ${name} must be [batch, time, ${size}], got [${x.shape.join(", ")}]`);
}
