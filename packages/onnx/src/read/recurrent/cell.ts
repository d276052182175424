/** Describes the differences between the cells of LSTM, GRU and RNN. */
import type { Tensor } from "@mp/graph";
import type { NodeReader } from "../node/node-reader.js";
import type { Activation } from "./activations.js";

export type OperandName = "X" | "W" | "R" | "B" | "sequence_lens" | "initial_h" | "initial_c" | "P";

export interface RecurrentOp {
  readonly gates: number;
  /** The default activations of a cell. */
  readonly activations: readonly string[];
  /** Number of leading activations that `clip` applies to: those of the gates, not of the state. */
  readonly clipped: number;
  /** Names of the node's operands, in ONNX's order. */
  readonly operands: readonly OperandName[];
  /** Names of the operands that are initial states, the hidden state first. */
  readonly states: readonly OperandName[];
  /** Makes a cell from this op's own attributes. */
  readonly cell: (reader: NodeReader) => (direction: Direction) => Cell;
}

/** The parameters of a cell in one direction. */
export interface Direction {
  readonly hidden: number;
  /** [gates · hidden, hidden] */
  readonly recurrent: Tensor;
  /** [gates · hidden] each. */
  readonly biases?: readonly [input: Tensor, recurrent: Tensor];
  /** [3 · hidden] */
  readonly peepholes?: Tensor;
  readonly activations: readonly Activation[];
}

export interface Cell {
  /** Bias of the input product, [gates · hidden]. */
  readonly bias: Tensor | undefined;
  /** The next states, hidden first, from one step's input product [batch, gates · hidden] and the states. */
  readonly step: (gates: Tensor, states: readonly Tensor[]) => readonly Tensor[];
}
