import type { Tensor } from "@mp/graph";
import { expand, gemm, literal, reshape, scan, transpose, where } from "@mp/graph/ops";
import type { Cell } from "./cell.js";
import { isWithin } from "./row-lengths.js";
import type { Sizes } from "./sizes.js";

export interface DirectionResult {
  /** [time, batch, hidden] */
  readonly y: Tensor;
  /** The last states, [batch, hidden] each, the hidden state first. */
  readonly states: readonly Tensor[];
}

export interface DirectionInputs {
  /** The node's operand X. */
  readonly x: Tensor;
  /** [gates · hidden, inputs] */
  readonly weights: Tensor;
  /** The initial states, [batch, hidden] each; undefined means 0. */
  readonly starts: readonly (Tensor | undefined)[];
  /** [batch] */
  readonly lengths: Tensor | undefined;
  readonly reverse: boolean;
}

/** Loops over time in one direction. Before the loop, one product multiplies the inputs of all steps. */
export function overTime(
  cell: Cell,
  { x, weights, starts, lengths, reverse }: DirectionInputs,
  sizes: Sizes,
): DirectionResult {
  const { time, batch, inputs, hidden, isBatchFirst } = sizes;
  const inTime = isBatchFirst ? transpose(x, [1, 0, 2]) : x;
  const isValid = lengths && isWithin(lengths, sizes);
  // Elements past a row's end may be anything, and an infinity times a gradient of 0 would be NaN.
  const rows = reshape(isValid === undefined ? inTime : where(isValid, inTime, 0), [time * batch, inputs]);
  const product = gemm(rows, weights, cell.bias, { transB: true });
  const gates = reshape(product, [time, batch, weights.shape[0] as number]);
  const zeros = (): Tensor => expand(literal(0, x.dtype), [batch, hidden]);
  const sequences = { gates, ...(isValid === undefined ? {} : { isValid }) };
  const [states, y] = scan(
    (before: readonly Tensor[], element: { readonly gates: Tensor; readonly isValid?: Tensor }) => {
      const { isValid } = element;
      const next = cell.step(element.gates, before);
      const result = next[0] as Tensor;
      if (isValid === undefined) return [next, result];
      // Past its end a row keeps its states: the last valid ones or, in reverse, its initial ones.
      const kept = next.map((state, place) => where(isValid, state, before[place] as Tensor));
      return [kept, where(isValid, result, 0)];
    },
    starts.map((start) => start ?? zeros()),
    sequences,
    { reverse },
  );
  return { y, states };
}
