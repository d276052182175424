import type { Tensor } from "@mp/graph";
import { add, concat, matMul, mul, split, sub, transpose } from "@mp/graph/ops";
import type { ReadNode } from "../node/node-reader.js";
import type { Activation } from "./activations.js";
import type { Cell, Direction } from "./cell.js";
import { readRecurrence } from "./recurrence.js";

/** Reads a GRU, (1 - z) · h̃ + z · h, whose gates are in the order update, reset, hidden. */
export const readGru: ReadNode = readRecurrence({
  gates: 3,
  activations: ["Sigmoid", "Tanh"],
  clipped: 2,
  states: ["initial_h"],
  operands: ["X", "W", "R", "B", "sequence_lens", "initial_h"],
  cell: (reader) => (reader.int("linear_before_reset", 0) === 0 ? resetBefore : resetAfter),
});

type GruActivations = readonly [f: Activation, g: Activation];

/** `update · state + (1 - update) · candidate`, with only one multiplication. */
const mix = (update: Tensor, candidate: Tensor, state: Tensor): Tensor =>
  add(candidate, mul(update, sub(state, candidate)));

/** A cell whose reset gate scales the state before the recurrent product, which takes two products per step. */
function resetBefore({ recurrent, biases, hidden, activations }: Direction): Cell {
  const [f, g] = activations as GruActivations;
  const [ofGates, ofCandidate] = split(transpose(recurrent), [2 * hidden, hidden], 1) as [Tensor, Tensor];
  return {
    bias: biases && add(...biases),
    step: (gates, [state]) => {
      const before = state as Tensor;
      const [sums, candidate] = split(gates, [2 * hidden, hidden], -1) as [Tensor, Tensor];
      const [update, reset] = split(f(add(sums, matMul(before, ofGates))), 2, -1) as [Tensor, Tensor];
      const next = g(add(candidate, matMul(mul(reset, before), ofCandidate)));
      return [mix(update, next, before)];
    },
  };
}

/** A cell whose reset gate scales the recurrent product, including the candidate's recurrent bias. */
function resetAfter({ recurrent, biases, hidden, activations }: Direction): Cell {
  const [f, g] = activations as GruActivations;
  const weights = transpose(recurrent);
  const sizes = [2 * hidden, hidden];
  const [input, inner] = (biases ?? []).map((bias) => split(bias, sizes) as [Tensor, Tensor]);
  return {
    bias: input && inner && concat([add(input[0], inner[0]), input[1]]),
    step: (gates, [state]) => {
      const before = state as Tensor;
      const [sums, candidate] = split(gates, sizes, -1) as [Tensor, Tensor];
      const [carried, product] = split(matMul(before, weights), sizes, -1) as [Tensor, Tensor];
      const [update, reset] = split(f(add(sums, carried)), 2, -1) as [Tensor, Tensor];
      const next = g(add(candidate, mul(reset, inner === undefined ? product : add(product, inner[1]))));
      return [mix(update, next, before)];
    },
  };
}
