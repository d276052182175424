import type { Tensor } from "@mp/core";
import type { StoredWeight } from "../quantized/stored-weight.js";

/** The traced parameters of a linear layer, with its adapter where it has one. */
export interface LinearPart {
  /** [outputs, inputs], or as `isInputsFirst` says, of any float dtype or quantized. */
  readonly weight: StoredWeight<Tensor>;
  readonly bias?: Tensor;
  readonly adapter?: LinearAdapter;
  /** Whether the weight is [inputs, outputs]: GPT-2's `Conv1D`. */
  readonly isInputsFirst?: boolean;
}

/** A product of two low-rank matrices that is added to a frozen one: LoRA (Hu et al., arXiv 2106.09685). */
export interface LinearAdapter {
  /** [rank, inputs] */
  readonly down: Tensor;
  /** [outputs, rank] */
  readonly up: Tensor;
  readonly scale: number;
  /** Rate of dropout of the adapter's input. */
  readonly dropout: number;
}
