import { type HostTensor, scope, type Tensor, zeros } from "@mp/core";
import { readOptions, withDefault } from "@mp/core/internal";
import { add, concat, matMul, mul, reshape, sigmoid, split, tanh } from "@mp/core/ops";
import { glorotUniform, type Initializer } from "./initializers.js";
import type { Layer } from "./layer.js";
import { checkSizes, initializer } from "./option-kinds.js";
import { initRecurrent, projected, type RecurrentParameters } from "./recurrent.js";

/** Gates along the last axis in the order input, forget, cell, output. */
export type LstmParameters = RecurrentParameters;

/** Hidden and cell state, [batch, cells] each. */
export type LstmState<T = Tensor> = { readonly hidden: T; readonly cell: T };

export interface LstmSequence {
  /** [time, batch, inputs] */
  readonly x: Tensor;
  readonly state: LstmState;
}

export interface LstmResult {
  /** [time, batch, cells] */
  readonly y: Tensor;
  readonly state: LstmState;
}

/** Zeros to start from. */
export function lstmState(batch: number, cells: number): LstmState<HostTensor<"f32">> {
  return { hidden: zeros([batch, cells]), cell: zeros([batch, cells]) };
}

/** One step of the basic cell (Zaremba et al., arXiv 1409.2329) from the gates' pre-activations [batch, 4 · cells]. */
export function lstmStep(gates: Tensor, cell: Tensor): LstmState {
  const [input, forget, candidate, output] = split(gates, 4, -1) as [Tensor, Tensor, Tensor, Tensor];
  const next = add(mul(sigmoid(forget), cell), mul(sigmoid(input), tanh(candidate)));
  return { hidden: mul(sigmoid(output), tanh(next)), cell: next };
}

const LSTM = { kernel: withDefault(glorotUniform, initializer) };

/**
 * A basic LSTM over time, unrolled. The input projection of all steps is one product before the recurrence;
 * only the recurrent product is inside it.
 * @throws MP_INVALID_ARGUMENT for sizes below 1, MP_SHAPE_MISMATCH for an input that is not [time, batch, inputs], or a state that is not [batch, cells]
 */
export function lstm(
  inputs: number,
  cells: number,
  options: { readonly kernel?: Initializer } = {},
): Layer<LstmParameters, LstmSequence, LstmResult> {
  checkSizes("lstm", { inputs, cells });
  const { kernel } = readOptions("lstm", options, LSTM, { example: "{ kernel: heNormal }" });
  const gates = { inputs, cells, count: 4 };
  return {
    name: "lstm",
    init: (key) => initRecurrent(key, gates, { input: kernel, recurrent: kernel }),
    apply: (parameters, { x, state }) =>
      scope("lstm", () => {
        const { time, batch, steps } = projected("lstm", gates, parameters, x, state);
        let current = state;
        const outputs: Tensor[] = [];
        for (const step of steps) {
          current = lstmStep(add(step, matMul(current.hidden, parameters.recurrent)), current.cell);
          outputs.push(current.hidden);
        }
        return { y: reshape(concat(outputs, 0), [time, batch, cells]), state: current };
      }),
  };
}
