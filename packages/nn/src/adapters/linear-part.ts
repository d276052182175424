import type { Tensor } from "@mp/core";
import type { StoredWeight } from "../quantized/stored-weight.js";

/** The traced parameters of a linear layer, with its adapter if there is one. */
export interface LinearPart {
  /** [outputs, inputs], or the reverse if `isInputsFirst`; of any float dtype, or quantized. */
  readonly weight: StoredWeight<Tensor>;
  readonly bias?: Tensor;
  readonly adapter?: LinearAdapter;
  /** Whether the weight is [inputs, outputs], as in GPT-2's `Conv1D`. */
  readonly isInputsFirst?: boolean;
}

/** A product of two low-rank matrices to add to a frozen weight: LoRA (Hu et al., arXiv 2106.09685). */
export interface LinearAdapter {
  /** [rank, inputs] */
  readonly down: Tensor;
  /** [outputs, rank] */
  readonly up: Tensor;
  readonly scale: number;
  /** Dropout rate of the adapter's input. */
  readonly dropout: number;
}
