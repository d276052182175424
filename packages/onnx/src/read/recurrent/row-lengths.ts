/** Handles batches whose rows have different lengths. */
import type { Tensor, Value } from "@mp/graph";
import { less, range, reshape } from "@mp/graph/ops";
import { toNumbers } from "../../numbers.js";
import type { NodeReader } from "../node/node-reader.js";
import type { Sizes } from "./sizes.js";

/** Index of the operand `sequence_lens` of LSTM, GRU and RNN. */
const PLACE = 4;

/** The length of each row, [batch]; undefined if none is given or all rows have full length. */
export function readLengths(reader: NodeReader, { time }: Sizes): Value | undefined {
  const known = reader.peek(PLACE);
  if (known === undefined) return reader.isGiven(PLACE) ? reader.indices(PLACE) : undefined;
  const lengths = toNumbers(known);
  const odd = lengths.find((length) => length < 0 || length > time);
  if (odd !== undefined)
    return reader.unsupported(`has ${odd} among its sequence_lens, supported are 0 to ${time}, X's times`);
  return lengths.every((length) => length === time) ? undefined : reader.indices(PLACE);
}

/** Whether a step is within the row's length, for each step and row; bool [time, batch, 1]. */
export function isWithin(lengths: Tensor, { time, batch }: Sizes): Tensor {
  const places = reshape(range(0, time), [time, 1]);
  return reshape(less(places, lengths), [time, batch, 1]);
}
