/**
 * Code that recurrent layers share: parameters with stacked gates, checks of sequences, the loop over time.
 */

import { foldIn, type HostTensor, isTensor, type Key, type Tensor, type TensorTree, zeros } from "@mp/core";
import { add, asTensor, concat, expand, literal, matMul, reshape, scan, split } from "@mp/core/ops";
import { mismatch } from "./errors.js";
import type { Initializer } from "./initializers.js";

export type RecurrentParameters = {
  /** [inputs, gates · cells] */
  readonly input: HostTensor<"f32">;
  /** [cells, gates · cells] */
  readonly recurrent: HostTensor<"f32">;
  /** [gates · cells] */
  readonly bias: HostTensor<"f32">;
};

export type Gates = Readonly<Record<"inputs" | "cells" | "count", number>>;

export function initRecurrent(
  key: Key,
  { inputs, cells, count }: Gates,
  initializers: { readonly input: Initializer; readonly recurrent: Initializer },
): RecurrentParameters {
  const width = count * cells;
  return {
    input: initializers.input(foldIn(key, "input"), [inputs, width], inputs, width),
    recurrent: initializers.recurrent(foldIn(key, "recurrent"), [cells, width], cells, width),
    bias: zeros([width]),
  };
}

/** The input of a recurrent layer; a missing state is filled with zeros. */
export function withState<T extends { readonly x: Tensor }>(
  layer: string,
  { cells }: Gates,
  input: Tensor | (Pick<T, "x"> & Partial<T>),
  zeroState: (zeros: Tensor) => Omit<T, "x">,
): T {
  const given = isTensor(input) ? { x: input } : input;
  const batch = asTensor(given?.x as Tensor, `${layer}: x`).shape[1] ?? 0;
  return { ...zeroState(expand(literal(0), [batch, cells])), ...given } as T;
}

interface Sequence {
  readonly time: number;
  readonly batch: number;
  /** The projected inputs of all steps, [time · batch, gates · cells]. */
  readonly gates: Tensor;
}

/** Options for the loop of a recurrent layer over time. */
export interface RecurrenceOptions {
  /**
   * Whether to write out all steps instead of a loop, like Keras's `unroll`. The graph then has more nodes, takes
   * longer to compile, and may run faster if a step is small. Default false.
   */
  readonly unroll?: boolean;
  /** Whether to run from the last step to the first, as half of a bidirectional layer; default false. */
  readonly reverse?: boolean;
}

/**
 * Runs the recurrence. @returns the hidden states of all steps, [time, batch, cells], and the last state
 * @param step computes the next state from the projected inputs of one step [batch, gates · cells] and the state
 */
export function overTime<S extends TensorTree>(
  { time, batch, gates }: Sequence,
  { unroll, reverse }: Required<RecurrenceOptions>,
  start: S,
  step: (gates: Tensor, state: S) => { readonly hidden: Tensor; readonly state: S },
): { readonly y: Tensor; readonly state: S } {
  if (!unroll) {
    const [state, y] = scan(
      (current: S, element: Tensor) => {
        const next = step(element, current);
        return [next.state, next.hidden];
      },
      start,
      reshape(gates, [time, batch, gates.shape[1] ?? 1]),
      { reverse },
    );
    return { y, state };
  }
  let state = start;
  const outputs: Tensor[] = [];
  const elements = split(gates, time, 0);
  for (const element of reverse ? elements.toReversed() : elements) {
    const next = step(element, state);
    state = next.state;
    outputs.push(next.hidden);
  }
  const joined = concat(reverse ? outputs.reverse() : outputs, 0);
  return { y: reshape(joined, [time, batch, joined.shape[1] ?? 1]), state };
}

/**
 * Projects the inputs of all steps by one product before the recurrence.
 * @throws MP_SHAPE_MISMATCH for x that is not [time, batch, inputs], and states that are not [batch, cells]
 */
export function projectInputs(
  layer: string,
  { inputs, cells }: Gates,
  parameters: { readonly input: Tensor; readonly bias: Tensor },
  x: Tensor,
  states: Readonly<Record<string, Tensor>>,
): Sequence {
  const [time, batch, size] = x.shape;
  if (time === undefined || batch === undefined || size !== inputs || x.shape.length !== 3) {
    throw mismatch(`${layer}: takes [time, batch, ${inputs}], got [${x.shape.join(", ")}]`);
  }
  for (const [name, state] of Object.entries(states)) {
    asTensor(state, `${layer}: the ${name} state`);
    if (state.shape.join() === `${batch},${cells}`) continue;
    throw mismatch(
      `${layer}: the ${name} state of a batch of ${batch} must be [${batch}, ${cells}], got [${state.shape.join(", ")}]`,
    );
  }
  const product = add(matMul(reshape(x, [time * batch, inputs]), parameters.input), parameters.bias);
  return { time, batch, gates: product };
}
