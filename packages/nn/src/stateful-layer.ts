import type { Key, Tensor } from "@mp/core";
import type { LayerContext, Parameters } from "./layer.js";

/** What a layer with statistics is given; `modelState` is its own, as `initState` began it. */
export interface StatefulContext<S> extends LayerContext {
  readonly modelState: Parameters<S>;
}

/**
 * A layer that carries more than parameters from step to step: running statistics. It reads them from the context and
 * returns those of the next step, which the loss hands on as `modelState`, so that they commit with the step or not at
 * all. Outside training they come back as they were.
 */
export interface StatefulLayer<P, S, I = Tensor, O = Tensor> {
  readonly name: string;
  init(key: Key): P;
  /** What the trainer is given as `modelState`. */
  initState(): S;
  apply(
    parameters: Parameters<P>,
    input: I,
    context: StatefulContext<S>,
  ): readonly [output: O, state: Parameters<S>];
}
