import type { Key, Tensor } from "@mp/core";
import type { LayerContext, Parameters } from "./layer.js";

/** The context of a layer with statistics. `modelState` is the layer's own state, at first `initState()`. */
export interface StatefulContext<S> extends LayerContext {
  readonly modelState: Parameters<S>;
}

/**
 * A layer that has running statistics as state. It reads them from the context and returns those for the next
 * step. The loss returns these as `modelState`, so that they are committed only if the step is applied.
 * Outside training they are returned unchanged.
 */
export interface StatefulLayer<P, S, I = Tensor, O = Tensor> {
  readonly name: string;
  init(key: Key): P;
  /** The initial `modelState` for the trainer. */
  initState(): S;
  apply(
    parameters: Parameters<P>,
    input: I,
    context: StatefulContext<S>,
  ): readonly [output: O, state: Parameters<S>];
}
