/** A linear layer of a model: where it is, and its sizes. */
export interface LinearPlace {
  /** Its path in the tree of parameters: `model/layers/0/self_attn/q_proj`. */
  readonly path: string;
  readonly inputs: number;
  readonly outputs: number;
  /** Whether its weight is [inputs, outputs], instead of [outputs, inputs]. */
  readonly isInputsFirst: boolean;
  /** Whether it gives the logits. */
  readonly isHead: boolean;
}
