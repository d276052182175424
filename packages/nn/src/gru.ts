import { type HostTensor, scope, type Tensor, zeros } from "@mp/core";
import { add, matMul, mul, sigmoid, split, sub, tanh } from "@mp/core/ops";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { glorotUniform, type Initializer, orthogonal } from "./initializers.js";
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

/**
 * The gates are stacked along the last axis, in the order reset, update, candidate. For reset and update,
 * `bias` is the sum of the two biases that other libraries have.
 */
export type GruParameters = RecurrentParameters & {
  /** Bias [cells] of the candidate's recurrent product, which the reset gate scales too. */
  readonly recurrentBias: HostTensor<"f32">;
};

export interface GruSequence {
  /** [time, batch, inputs] */
  readonly x: Tensor;
  /** [batch, cells]; default zeros. */
  readonly hidden?: Tensor;
}

export interface GruResult {
  /** [time, batch, cells] */
  readonly y: Tensor;
  /** [batch, cells] */
  readonly hidden: Tensor;
}

export interface GruOptions extends RecurrenceOptions {
  /** Initializer of the input kernel; default `glorotUniform`. */
  readonly kernel?: Initializer;
  /** Initializer of the recurrent kernel; default `orthogonal()`. */
  readonly recurrent?: Initializer;
}

const GRU = {
  kernel: withDefault(glorotUniform, initializer),
  recurrent: withDefault(orthogonal(), initializer),
  unroll: withDefault(false, checks.truth),
  reverse: withDefault(false, checks.truth),
};

/**
 * A gated recurrent unit over time (Cho et al., arXiv 1406.1078, with the reset gate after the product, as in PyTorch
 * and cuDNN), of x [time, batch, inputs] or `{ x, hidden }`. One product before the loop projects the inputs of all steps.
 * @throws MP_INVALID_ARGUMENT for sizes below 1, MP_SHAPE_MISMATCH for an input that is not [time, batch, inputs], or
 *   a state that is not [batch, cells]
 */
export function gru(
  inputs: number,
  cells: number,
  options: GruOptions = {},
): Layer<GruParameters, Tensor | GruSequence, GruResult> {
  checkSizes("gru", { inputs, cells });
  const { kernel, recurrent, ...recurrence } = readOptions("gru", options, GRU, {
    example: "{ kernel: heNormal }",
  });
  const gates = { inputs, cells, count: 3 };
  return {
    name: "gru",
    init: (key) => ({
      ...initRecurrent(key, gates, { input: kernel, recurrent }),
      recurrentBias: zeros([cells]),
    }),
    apply: (parameters, input) =>
      scope("gru", () => {
        const { x, hidden } = withState<Required<GruSequence>>("gru", gates, input, (hidden) => ({ hidden }));
        const sequence = projectInputs("gru", gates, parameters, x, { hidden });
        const result = overTime(sequence, recurrence, hidden, (step, current: Tensor) => {
          const carried = matMul(current, parameters.recurrent);
          const [reset, update, candidate] = split(step, 3, -1) as [Tensor, Tensor, Tensor];
          const [resetBy, updateBy, candidateBy] = split(carried, 3, -1) as [Tensor, Tensor, Tensor];
          const kept = mul(sigmoid(add(reset, resetBy)), add(candidateBy, parameters.recurrentBias));
          const next = tanh(add(candidate, kept));
          // update · current + (1 - update) · next, with one product
          const state = add(next, mul(sigmoid(add(update, updateBy)), sub(current, next)));
          return { hidden: state, state };
        });
        return { y: result.y, hidden: result.state };
      }),
  };
}
