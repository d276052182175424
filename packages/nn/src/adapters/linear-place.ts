/** The place of a linear layer in a model, and its sizes. */
export interface LinearPlace {
  /** The layer's path in the tree of parameters: `model/layers/0/self_attn/q_proj`. */
  readonly path: string;
  readonly inputs: number;
  readonly outputs: number;
  /** Whether the weight is [inputs, outputs] instead of [outputs, inputs]. */
  readonly isInputsFirst: boolean;
  /** Whether the layer computes the logits. */
  readonly isHead: boolean;
}
