import { fold, MpError, scope, type Tensor } from "@mp/core";
import type { Layer, LayerContext, Nothing, Parameters } from "./layer.js";

type Part = Layer<unknown> | ((x: Tensor) => Tensor);
type ParametersOfPart<T> = T extends { init(key: never): infer P } ? P : Nothing;
export type SequentialParameters<L extends readonly unknown[]> = {
  readonly [K in keyof L]: ParametersOfPart<L[K]>;
};

/**
 * Layers and plain functions of a tensor, one after the other. Parameters are a tuple, one entry a part.
 * @throws MP_INVALID_ARGUMENT for a part that is neither, such as the name of an activation
 */
export function sequential<const L extends readonly Part[]>(...parts: L): Layer<SequentialParameters<L>> {
  for (const [index, part] of parts.entries()) {
    const { init, apply } = (part ?? {}) as Partial<Layer<unknown>>;
    if (typeof part === "function" || (typeof init === "function" && typeof apply === "function")) continue;
    const got = typeof part === "string" ? JSON.stringify(part) : typeof part;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `sequential: part ${index} is a layer or a function such as relu, got ${got}`,
    );
  }
  return {
    name: "sequential",
    init: (key) =>
      parts.map((part, index) =>
        typeof part === "function" ? {} : part.init(fold(key, index)),
      ) as SequentialParameters<L>,
    apply: (parameters: Parameters<SequentialParameters<L>>, x: Tensor, context?: LayerContext): Tensor =>
      parts.reduce<Tensor>((input, part, index) => {
        if (typeof part === "function") return part(input);
        return scope(String(index), () =>
          part.apply((parameters as readonly unknown[])[index], input, context),
        );
      }, x),
  };
}
