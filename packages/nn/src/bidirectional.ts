import { foldIn, isTensor, scope, type Tensor } from "@mp/core";
import { concat, slice } from "@mp/core/ops";
import type { Layer } from "./layer.js";

/** The parameters of the layer for each direction. */
export type BidirectionalParameters<P> = { readonly forward: P; readonly backward: P };

/** A sequence, and the state from which each direction begins, by default zeros. */
export interface BidirectionalSequence<I> {
  /** [time, batch, inputs] */
  readonly x: Tensor;
  readonly forward?: Omit<I, "x">;
  /** The state from which the backward direction begins, at the last time step. */
  readonly backward?: Omit<I, "x">;
}

export interface BidirectionalResult<O> {
  /** At each time step the output of the forward direction, then of the backward one: [time, batch, 2 · cells]. */
  readonly y: Tensor;
  /** The state of the forward direction after the last time step. */
  readonly forward: Omit<O, "y">;
  /** The state of the backward direction after time step 0, where it ends. */
  readonly backward: Omit<O, "y">;
}

/**
 * Runs a recurrent layer such as `lstm(3, 5)` over a sequence in both directions, with parameters of their own, and
 * joins the outputs of each time step, as PyTorch's `bidirectional` and Keras's `Bidirectional` do.
 * @throws as the layer
 */
export function bidirectional<P, I extends { readonly x: Tensor }, O extends { readonly y: Tensor }>(
  layer: Layer<P, Tensor | I, O>,
): Layer<BidirectionalParameters<P>, Tensor | BidirectionalSequence<I>, BidirectionalResult<O>> {
  return {
    name: "bidirectional",
    init: (key) => ({
      forward: layer.init(foldIn(key, "forward")),
      backward: layer.init(foldIn(key, "backward")),
    }),
    apply: (parameters, input, context) =>
      scope("bidirectional", () => {
        const { x, ...start } = (isTensor(input) ? { x: input } : (input ?? {})) as BidirectionalSequence<I>;
        const run = (direction: "forward" | "backward", sequence: Tensor): O =>
          scope(direction, () =>
            layer.apply(parameters[direction], { ...start[direction], x: sequence } as unknown as I, context),
          );
        const { y: ahead, ...forward } = run("forward", x);
        const { y: back, ...backward } = run("backward", reversed(x));
        return { y: concat([ahead, reversed(back)], -1), forward, backward };
      }),
  };
}

/** The same elements from the last time step to the first. */
const reversed = (x: Tensor): Tensor =>
  slice(x, [{ axis: 0, start: -1, end: Number.NEGATIVE_INFINITY, step: -1 }]);
