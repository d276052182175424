/** The interface that each model family implements for `causalLm`. */

import type { remat, Tensor, TensorTree } from "@mp/core";
import type { LayerContext } from "@mp/nn";
import type { FieldTable, FieldValues } from "@mp/nn/internal";
import type { SpecTree } from "./parameter-spec.js";

/** The tensors of one batch. */
export interface CausalLmInput {
  /** Tokens, i32 [batch, time]. */
  readonly ids: Tensor;
  /**
   * bool, true where a token may attend; the shape broadcasts to [batch, heads, time, time], and its last
   * dimension must be time, not 1. Tokens never attend to later tokens. Default: all true.
   */
  readonly mask?: Tensor;
  /** Position ids, i32 [batch, time]; default 0, 1, 2 … in each row. In packed rows, examples start at 0. */
  readonly positions?: Tensor;
  /** Computes the attention of every block, for example over cached keys and values. Default: among `ids`. */
  readonly attend?: Attend;
  /** The only position to compute logits for, i32 scalar; this gives [batch, 1, vocabulary]. Default: all. */
  readonly place?: Tensor;
}

/**
 * Queries, keys and values of a block after rotation, each [batch, heads, time, size]. With grouped queries,
 * keys and values have fewer heads.
 */
export interface Heads extends Readonly<Record<"query" | "key" | "value", Tensor>> {
  /** The number of tokens to which a token attends at most: itself and those just before it. Default: all. */
  readonly window?: number;
}

/** Computes the attention of the block with index `layer`; returns [batch, heads, time, size]. */
export type Attend = (layer: number, heads: Heads) => Tensor;

/** Sizes of a model that determine the size of its cache of keys and values. */
export interface ModelSizes {
  readonly vocabulary: number;
  readonly layers: number;
  readonly keyHeads: number;
  readonly headSize: number;
  /** Number of positions for which the model was made, `max_position_embeddings`. */
  readonly positions: number;
}

/** The input of a decoder in addition to its parameters. */
export interface DecoderInput extends Required<Pick<CausalLmInput, "ids" | "positions" | "attend">> {
  /** The mask; the function `attend` already applies it. */
  readonly mask: Tensor | undefined;
  readonly place: Tensor | undefined;
  readonly context: LayerContext | undefined;
  /** Wraps each block: either `remat` or the identity function. */
  readonly wrapped: typeof remat;
}

/** The computation of a model with one configuration. */
export interface Decoder {
  readonly sizes: ModelSizes;
  /** Shapes and initial values of the parameters, by published name. */
  readonly parameters: SpecTree;
  /** Computes logits [batch, time, vocabulary], for all positions or only for `place`. */
  apply(parameters: TensorTree, input: DecoderInput): Tensor;
}

export interface Family {
  /** Class names in transformers whose files the family reads. */
  readonly architectures: readonly string[];
  readonly fields: FieldTable;
  /** Prefix of the decoder's parameter names; files of a model without a head omit it. */
  readonly prefix: string;
  /** Name of the embeddings below the prefix. */
  readonly embeddings: string;
  /** Matches names of tensors in a file that are not parameters. */
  readonly buffers: RegExp;
  /** The linear layers that get adapters by default, as in peft. */
  readonly targets: readonly string[];
  decoder(config: FieldValues, ignored: readonly string[]): Decoder;
}
