/** The interface of a model family for `causalLm`. */

import type { remat, Tensor, TensorTree } from "@mp/core";
import type { LayerContext } from "@mp/nn";
import type { FieldTable, FieldValues } from "@mp/nn/internal";
import type { SpecTree } from "./parameter-spec.js";

/** The tensors of a batch. */
export interface CausalLmInput {
  /** Tokens, i32 [batch, time]. */
  readonly ids: Tensor;
  /**
   * bool, true where a token may attend; the shape broadcasts to [batch, heads, time, time] and is full in the last
   * axis. Tokens never attend to later ones. Default: all true.
   */
  readonly mask?: Tensor;
  /** Position ids, i32 [batch, time]; default 0, 1, 2 … in each row. In packed rows each example counts from 0. */
  readonly positions?: Tensor;
  /**
   * Computes the attention of every block, for example over cached keys and values. Default: over the input's tokens.
   */
  readonly attend?: Attend;
  /** The only position to compute logits for, i32 scalar, which gives [batch, 1, vocabulary]. Default: all. */
  readonly place?: Tensor;
}

/**
 * Queries, keys and values of a block after rotation, each [batch, heads, time, size]; with grouped queries there are
 * fewer heads of keys and values.
 */
export interface Heads {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
}

/** Computes the attention of the block with this index: [batch, heads, time, size]. */
export type Attend = (layer: number, heads: Heads) => Tensor;

/** Sizes of a model that determine its cache of keys and values. */
export interface ModelSizes {
  readonly vocabulary: number;
  readonly layers: number;
  readonly keyHeads: number;
  readonly headSize: number;
  /** Number of positions that the model was made for, `max_position_embeddings`. */
  readonly positions: number;
}

/** A decoder's input besides its parameters. */
export interface DecoderInput extends Required<Pick<CausalLmInput, "ids" | "positions" | "attend">> {
  /** The mask, which `attend` already applies. */
  readonly mask: Tensor | undefined;
  readonly place: Tensor | undefined;
  readonly context: LayerContext | undefined;
  /** Wraps each block: `remat`, or the identity function. */
  readonly wrapped: typeof remat;
}

/** A model that a configuration describes. */
export interface Decoder {
  readonly sizes: ModelSizes;
  /** The parameters by their published names. */
  readonly parameters: SpecTree;
  /** Logits [batch, time, vocabulary] for one position or all. */
  apply(parameters: TensorTree, input: DecoderInput): Tensor;
}

export interface Family {
  /** Classes of transformers whose files the family reads. */
  readonly architectures: readonly string[];
  readonly fields: FieldTable;
  /** Prefix of the decoder's parameters; files of a model without a head omit it. */
  readonly prefix: string;
  /** Matches the names of a file's tensors that are not parameters. */
  readonly buffers: RegExp;
  /** The linear layers that get adapters by default, as in peft. */
  readonly targets: readonly string[];
  decoder(config: FieldValues, ignored: readonly string[]): Decoder;
}
