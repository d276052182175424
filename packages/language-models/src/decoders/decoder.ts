/** The interface of a family of models for `causalLm`. */

import type { remat, Tensor, TensorTree } from "@mp/core";
import type { LayerContext } from "@mp/nn";
import type { FieldTable, FieldValues } from "@mp/nn/internal";
import type { SpecTree } from "./parameter-spec.js";

/** The tensors of a batch. */
export interface CausalLmInput {
  /** Tokens, i32 [batch, time]. */
  readonly ids: Tensor;
  /**
   * bool, true where a token may attend, of a shape that broadcasts to [batch, heads, time, time] and has all of the
   * last axis. Tokens never attend to later ones. Default: all true.
   */
  readonly mask?: Tensor;
  /** Position ids, i32 [batch, time]; default 0, 1, 2 … in each row. Packed samples count from 0 each. */
  readonly positions?: Tensor;
  /**
   * Computes the attention of every block, for example over cached keys and values. Default: over the tokens of the
   * input.
   */
  readonly attend?: Attend;
  /** The only position to compute logits for, i32 scalar: [batch, 1, vocabulary]. Default: all. */
  readonly place?: Tensor;
}

/**
 * Queries, keys and values of a block, already rotated, each [batch, heads, time, size]; models with grouped queries have
 * fewer heads of keys and values.
 */
export interface Heads {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
}

/** The attention of a block, by its index, to [batch, heads, time, size]. */
export type Attend = (layer: number, heads: Heads) => Tensor;

/** Sizes of a model that its cache of keys and values depends on. */
export interface ModelSizes {
  readonly vocabulary: number;
  readonly layers: number;
  readonly keyHeads: number;
  readonly headSize: number;
  /** Positions that the model was made for, `max_position_embeddings`. */
  readonly positions: number;
}

/** The input of a decoder besides its parameters. */
export interface DecoderInput extends Required<Pick<CausalLmInput, "ids" | "positions" | "attend">> {
  /** `attend` has it already. */
  readonly mask: Tensor | undefined;
  readonly place: Tensor | undefined;
  readonly context: LayerContext | undefined;
  /** Wraps each block: `remat`, or the identity. */
  readonly wrapped: typeof remat;
}

/** A model as its configuration describes it. */
export interface Decoder {
  readonly sizes: ModelSizes;
  /** Parameters by their published names. */
  readonly parameters: SpecTree;
  /** Logits [batch, time, vocabulary], of one place or all. */
  apply(parameters: TensorTree, input: DecoderInput): Tensor;
}

export interface Family {
  /** Classes of transformers whose files it reads. */
  readonly architectures: readonly string[];
  readonly fields: FieldTable;
  /** Prefix of the decoder's parameters; files of a model without a head leave it out. */
  readonly prefix: string;
  /** Matches names of tensors in a file that are not parameters. */
  readonly buffers: RegExp;
  /** The linear layers that get adapters by default, as in peft. */
  readonly targets: readonly string[];
  decoder(config: FieldValues, ignored: readonly string[]): Decoder;
}
