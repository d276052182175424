import type { Tensor } from "@mp/graph";
import { add, matMul, mul, split, sub, transpose } from "@mp/graph/ops";
import type { ReadNode } from "../node/node-reader.js";
import type { Activation } from "./activations.js";
import { readRecurrence } from "./recurrence.js";

/** Reads an LSTM, i · c̃ + f · c, whose gates are in the order input, output, forget, cell. */
export const readLstm: ReadNode = readRecurrence({
  gates: 4,
  activations: ["Sigmoid", "Tanh", "Tanh"],
  clipped: 2,
  states: ["initial_h", "initial_c"],
  operands: ["X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"],
  cell: (reader) => {
    const coupled = reader.int("input_forget", 0) !== 0;
    return ({ recurrent, biases, peepholes, activations }) => {
      const [f, g, h] = activations as LstmActivations;
      const weights = transpose(recurrent);
      const [toInput, toOutput, toForget] = peepholes === undefined ? [] : split(peepholes, 3);
      const peep = (gate: Tensor, cell: Tensor, weight: Tensor | undefined): Tensor =>
        weight === undefined ? gate : add(gate, mul(weight, cell));
      return {
        bias: biases && add(...biases),
        step: (gates, states) => {
          const [hidden, cell] = states as LstmStates;
          const sums = add(gates, matMul(hidden, weights));
          const [input, output, forget, candidate] = split(sums, 4, -1) as [Tensor, Tensor, Tensor, Tensor];
          const taken = f(peep(input, cell, toInput));
          const kept = coupled ? sub(1, taken) : f(peep(forget, cell, toForget));
          const next = add(mul(kept, cell), mul(taken, g(candidate)));
          return [mul(f(peep(output, next, toOutput)), h(next)), next];
        },
      };
    };
  },
});

type LstmActivations = readonly [f: Activation, g: Activation, h: Activation];
type LstmStates = readonly [hidden: Tensor, cell: Tensor];
