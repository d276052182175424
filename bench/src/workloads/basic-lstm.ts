/** LSTMs with more, smaller products than the layer of `@mp/nn`, but its parameters and results. */
import { scope, type Tensor, type Traced } from "@mp/core";
import { add, concat, matMul, reshape, split } from "@mp/core/ops";
import { type LstmParameters, type LstmSequence, lstm, lstmStep } from "@mp/nn";

/**
 * How an LSTM layer splits its matrix products. `fused`: one product for the inputs of all steps, and one per step for
 * the state. `by step`: one per step, as in TensorFlow's `BasicLSTMCell`. `by gate`: one per step and gate.
 */
export const LSTM_FORMS = ["fused", "by step", "by gate"] as const;
export type LstmForm = (typeof LSTM_FORMS)[number];

type Apply = (parameters: Traced<LstmParameters>, sequence: Required<LstmSequence>) => Tensor;

/** A layer over time with its steps written out: [time, batch, cells] of hidden states. */
export function lstmOfForm(form: LstmForm, cells: number): Apply {
  const layer = lstm(cells, cells, { unroll: true });
  const applies: Readonly<Record<LstmForm, Apply>> = {
    fused: (parameters, sequence) => layer.apply(parameters, sequence).y,
    "by step": basic(1),
    "by gate": basic(4),
  };
  return applies[form];
}

/** An LSTM whose weights are split by columns into parts, each with a product in each step. */
function basic(parts: number): Apply {
  return ({ input, recurrent, bias }, { x, state }) =>
    scope("lstm", () => {
      const [time = 1, batch = 1, inputs = 1] = x.shape;
      const weights = split(concat([input, recurrent]), parts, 1);
      const biases = split(bias, parts);
      let { hidden, cell } = state;
      const outputs = split(x, time).map((element) => {
        const both = concat([reshape(element, [batch, inputs]), hidden], 1);
        const gates = weights.map((own, part) => add(matMul(both, own), biases[part] as Tensor));
        ({ hidden, cell } = lstmStep(concat(gates, 1), cell));
        return reshape(hidden, [1, batch, hidden.shape[1] as number]);
      });
      return concat(outputs);
    });
}
