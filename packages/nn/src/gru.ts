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
  sub,
  type Tensor,
  tanh,
} from "@mp/core";
import { checkSizes } from "./check-size.js";
import { constantValue, glorotUniform, type Initializer, orthogonal } from "./initializers.js";
import type { Layer } from "./layer.js";

/** Gates along the last axis in the order reset, update, candidate. */
export type GruParameters = {
  /** [inputs, 3 · cells] */
  readonly input: HostTensor<"f32">;
  /** [cells, 3 · cells] */
  readonly recurrent: HostTensor<"f32">;
  /** [3 · cells]; of the two biases that other libraries keep for the first two gates, the sum. */
  readonly bias: HostTensor<"f32">;
  /** [cells]: of the candidate's recurrent part, inside the reset gate. */
  readonly recurrentBias: HostTensor<"f32">;
};

export interface GruSequence {
  /** [time, batch, inputs] */
  readonly x: Tensor;
  /** [batch, cells] */
  readonly hidden: Tensor;
}

export interface GruResult {
  /** [time, batch, cells] */
  readonly y: Tensor;
  /** [batch, cells] */
  readonly hidden: Tensor;
}

export interface GruOptions {
  /** Of the inputs; default `glorotUniform`. */
  readonly kernel?: Initializer;
  /** Of the recurrence; default `orthogonal()`. */
  readonly recurrent?: Initializer;
}

/**
 * A gated recurrent unit over time, unrolled (Cho et al., arXiv 1406.1078, with the reset gate after the product, as
 * PyTorch and cuDNN have it). The input projection of all steps is one product before the recurrence.
 * @throws MP_INVALID_ARGUMENT for sizes below 1, MP_SHAPE_MISMATCH for an input that is not [time, batch, inputs], or a
 * state that is not [batch, cells]
 */
export function gru(
  inputs: number,
  cells: number,
  options: GruOptions = {},
): Layer<GruParameters, GruSequence, GruResult> {
  checkSizes("gru", { inputs, cells });
  checkOptions("gru", options, { kernel: true, recurrent: true }, "{ kernel: heNormal }");
  const { kernel = glorotUniform, recurrent = orthogonal() } = options;
  return {
    name: "gru",
    init: (key) => ({
      input: kernel(fold(key, "input"), [inputs, 3 * cells], inputs, 3 * cells),
      recurrent: recurrent(fold(key, "recurrent"), [cells, 3 * cells], cells, 3 * cells),
      bias: constantValue(0)(fold(key, "bias"), [3 * cells], inputs, cells),
      recurrentBias: constantValue(0)(fold(key, "recurrentBias"), [cells], cells, cells),
    }),
    apply: (parameters, { x, hidden }) =>
      scope("gru", () => {
        const [time, batch, size] = x.shape;
        if (time === undefined || batch === undefined || size !== inputs || x.shape.length !== 3) {
          throw new MpError(
            "MP_SHAPE_MISMATCH",
            `gru: takes [time, batch, ${inputs}], got [${x.shape.join(", ")}]`,
          );
        }
        if (hidden.shape.join() !== `${batch},${cells}`) {
          throw new MpError(
            "MP_SHAPE_MISMATCH",
            `gru: the hidden state of a batch of ${batch} is [${batch}, ${cells}], got [${hidden.shape.join(", ")}]`,
          );
        }
        const projected = add(matMul(reshape(x, [time * batch, inputs]), parameters.input), parameters.bias);
        let current = hidden;
        const outputs: Tensor[] = [];
        for (const step of split(projected, time, 0)) {
          const carried = matMul(current, parameters.recurrent);
          const [reset, update, candidate] = split(step, 3, -1) as [Tensor, Tensor, Tensor];
          const [resetBy, updateBy, candidateBy] = split(carried, 3, -1) as [Tensor, Tensor, Tensor];
          const kept = mul(sigmoid(add(reset, resetBy)), add(candidateBy, parameters.recurrentBias));
          const next = tanh(add(candidate, kept));
          // update · current + (1 - update) · next, with one product
          current = add(next, mul(sigmoid(add(update, updateBy)), sub(current, next)));
          outputs.push(current);
        }
        return { y: reshape(concat(outputs, 0), [time, batch, cells]), hidden: current };
      }),
  };
}
