import {
  add,
  checkOptions,
  concat,
  fold,
  type HostTensor,
  MpError,
  matMul,
  mul,
  reshape,
  scope,
  sigmoid,
  split,
  type Tensor,
  tanh,
  zeros,
} from "@mp/core";
import { checkSizes } from "./check-size.js";
import { constantValue, glorotUniform, type Initializer } from "./initializers.js";
import type { Layer } from "./layer.js";

/** Gates along the last axis in the order input, forget, cell, output. */
export type LstmParameters = {
  /** [inputs, 4 · cells] */
  readonly input: HostTensor<"f32">;
  /** [cells, 4 · cells] */
  readonly recurrent: HostTensor<"f32">;
  /** [4 · cells] */
  readonly bias: HostTensor<"f32">;
};

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
  checkOptions("lstm", options, { kernel: true }, "{ kernel: heNormal }");
  const kernel = options.kernel ?? glorotUniform;
  return {
    name: "lstm",
    init: (key) => ({
      input: kernel(fold(key, "input"), [inputs, 4 * cells], inputs, 4 * cells),
      recurrent: kernel(fold(key, "recurrent"), [cells, 4 * cells], cells, 4 * cells),
      bias: constantValue(0)(fold(key, "bias"), [4 * cells], inputs, cells),
    }),
    apply: (parameters, { x, state }) =>
      scope("lstm", () => {
        const [time, batch, size] = x.shape;
        if (time === undefined || batch === undefined || size !== inputs || x.shape.length !== 3) {
          throw new MpError(
            "MP_SHAPE_MISMATCH",
            `lstm: takes [time, batch, ${inputs}], got [${x.shape.join(", ")}]`,
          );
        }
        for (const [name, part] of Object.entries(state)) {
          if (part.shape.join() === `${batch},${cells}`) continue;
          throw new MpError(
            "MP_SHAPE_MISMATCH",
            `lstm: the ${name} state of a batch of ${batch} is [${batch}, ${cells}], got [${part.shape.join(", ")}]`,
          );
        }
        const projected = add(matMul(reshape(x, [time * batch, inputs]), parameters.input), parameters.bias);
        let current = state;
        const outputs: Tensor[] = [];
        for (const step of split(projected, time, 0)) {
          current = lstmStep(add(step, matMul(current.hidden, parameters.recurrent)), current.cell);
          outputs.push(current.hidden);
        }
        return { y: reshape(concat(outputs, 0), [time, batch, cells]), state: current };
      }),
  };
}
