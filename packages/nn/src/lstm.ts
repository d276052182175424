import { type HostTensor, scope, type Tensor, zeros } from "@mp/core";
import { add, matMul, mul, sigmoid, split, tanh } from "@mp/core/ops";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { glorotUniform, type Initializer } from "./initializers.js";
import type { Layer } from "./layer.js";
import { checkSizes, initializer } from "./option-kinds.js";
import {
  initRecurrent,
  overTime,
  projectInputs,
  type RecurrenceOptions,
  type RecurrentParameters,
  withState,
} from "./recurrent.js";

/** The gates are stacked along the last axis, in the order input, forget, cell, output. */
export type LstmParameters = RecurrentParameters;

/** Hidden and cell state, [batch, cells] each. */
export type LstmState<T = Tensor> = { readonly hidden: T; readonly cell: T };

export interface LstmSequence {
  /** [time, batch, inputs] */
  readonly x: Tensor;
  /** Default zeros. */
  readonly state?: LstmState;
}

export interface LstmResult {
  /** [time, batch, cells] */
  readonly y: Tensor;
  readonly state: LstmState;
}

/** The initial state, all zeros. */
export function lstmState(batch: number, cells: number): LstmState<HostTensor<"f32">> {
  return { hidden: zeros([batch, cells]), cell: zeros([batch, cells]) };
}

/** One step of the basic cell (Zaremba et al., arXiv 1409.2329) from the gates' pre-activations [batch, 4 · cells]. */
export function lstmStep(gates: Tensor, cell: Tensor): LstmState {
  const [input, forget, candidate, output] = split(gates, 4, -1) as [Tensor, Tensor, Tensor, Tensor];
  const next = add(mul(sigmoid(forget), cell), mul(sigmoid(input), tanh(candidate)));
  return { hidden: mul(sigmoid(output), tanh(next)), cell: next };
}

export interface LstmOptions extends RecurrenceOptions {
  /** Initializer of both kernels; default `glorotUniform`. */
  readonly kernel?: Initializer;
}

const LSTM = {
  kernel: withDefault(glorotUniform, initializer),
  unroll: withDefault(false, checks.truth),
  reverse: withDefault(false, checks.truth),
};

/**
 * A basic LSTM over time, of x [time, batch, inputs] or `{ x, state }`. One product before the loop projects the inputs
 * of all steps; the recurrent product is inside the loop.
 * @throws MP_INVALID_ARGUMENT for sizes below 1, MP_SHAPE_MISMATCH for an input that is not [time, batch, inputs], or
 *   a state that is not [batch, cells]
 */
export function lstm(
  inputs: number,
  cells: number,
  options: LstmOptions = {},
): Layer<LstmParameters, Tensor | LstmSequence, LstmResult> {
  checkSizes("lstm", { inputs, cells });
  const { kernel, ...recurrence } = readOptions("lstm", options, LSTM, { example: "{ kernel: heNormal }" });
  const gates = { inputs, cells, count: 4 };
  return {
    name: "lstm",
    init: (key) => initRecurrent(key, gates, { input: kernel, recurrent: kernel }),
    apply: (parameters, input) =>
      scope("lstm", () => {
        const { x, state } = withState<Required<LstmSequence>>("lstm", gates, input, (hidden) => ({
          state: { hidden, cell: hidden },
        }));
        const { hidden, cell } = (state ?? {}) as LstmState;
        const sequence = projectInputs("lstm", gates, parameters, x, { hidden, cell });
        return overTime(sequence, recurrence, state, (step, { hidden, cell }) => {
          const next = lstmStep(add(step, matMul(hidden, parameters.recurrent)), cell);
          return { hidden: next.hidden, state: next };
        });
      }),
  };
}
