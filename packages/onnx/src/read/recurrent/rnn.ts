import type { Tensor } from "@mp/graph";
import { add, matMul, transpose } from "@mp/graph/ops";
import type { ReadNode } from "../node/node-reader.js";
import type { Activation } from "./activations.js";
import { readRecurrence } from "./recurrence.js";

/** Reads a simple RNN, f(x · W + h · R). */
export const readRnn: ReadNode = readRecurrence({
  gates: 1,
  activations: ["Tanh"],
  clipped: 1,
  states: ["initial_h"],
  operands: ["X", "W", "R", "B", "sequence_lens", "initial_h"],
  cell:
    () =>
    ({ recurrent, biases, activations }) => {
      const [f] = activations as readonly [Activation];
      const weights = transpose(recurrent);
      return {
        bias: biases && add(...biases),
        step: (gates, [state]) => [f(add(gates, matMul(state as Tensor, weights)))],
      };
    },
});
