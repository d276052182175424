/** The differences between LSTM, GRU and RNN. */
import type { Tensor } from "@mp/graph";
import type { NodeReader } from "../node/node-reader.js";
import type { Activation } from "./activations.js";

export type OperandName = "X" | "W" | "R" | "B" | "sequence_lens" | "initial_h" | "initial_c" | "P";

export interface RecurrentOp {
  readonly gates: number;
  /** The functions of a cell where the node names none. */
  readonly activations: readonly string[];
  /** `clip` bounds the inputs of so many of them, from the first: those of gates, not that of a state, as in engines. */
  readonly clipped: number;
  /** In ONNX's order. */
  readonly operands: readonly OperandName[];
  /** The operands that its states start from, the hidden one first. */
  readonly states: readonly OperandName[];
  /** Reads the attributes that no other op has. */
  readonly cell: (reader: NodeReader) => (direction: Direction) => Cell;
}

/** The parts of a cell in one direction. */
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
  /** Bias of the inputs' part of the gates at all times, [gates · hidden]. */
  readonly bias: Tensor | undefined;
  /** The next states, hidden first, from the inputs' part of the gates [batch, gates · hidden] and the states. */
  readonly step: (gates: Tensor, states: readonly Tensor[]) => readonly Tensor[];
}
