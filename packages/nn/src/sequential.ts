import { foldIn, type Key, type Tensor } from "@mp/core";
import { labeledPart, shown } from "@mp/graph/internal";
import { invalid } from "./errors.js";
import type { Layer, LayerContext, Parameters } from "./layer.js";
import { applyPart, isStateful, type ParametersOfPart, type Part, type StateOfPart } from "./part.js";
import type { StatefulContext, StatefulLayer } from "./stateful-layer.js";

export type SequentialParameters<L extends readonly unknown[]> = {
  readonly [K in keyof L]: ParametersOfPart<L[K]>;
};
/** The state of each part; empty for parts without state. */
export type SequentialState<L extends readonly unknown[]> = {
  readonly [K in keyof L]: StateOfPart<L[K]>;
};
/** The type of a composed layer, with statistics if one of its parts has statistics. */
export type Sequential<L extends readonly unknown[]> = [
  Extract<L[number], { initState(): unknown }>,
] extends [never]
  ? Layer<SequentialParameters<L>>
  : StatefulLayer<SequentialParameters<L>, SequentialState<L>>;

/**
 * Runs layers and plain functions of a tensor one after another. Parameters are a tuple with one entry per
 * part. If a part has statistics, the state is such a tuple too, and `apply` returns `[output, state]`.
 * @throws MP_INVALID_ARGUMENT for a part that is neither layer nor function, such as the name of an activation
 */
export function sequential<const L extends readonly Part[]>(...parts: L): Sequential<L> {
  for (const [index, part] of parts.entries()) {
    const { init, apply } = (part ?? {}) as Partial<Layer<unknown>>;
    if (typeof part === "function" || (typeof init === "function" && typeof apply === "function")) continue;
    const got = Array.isArray(part) ? "a list; spread it: sequential(...parts)" : shown(part);
    throw invalid(`sequential: part ${index} must be a layer or a function such as relu, got ${got}`);
  }
  const name = "sequential";
  const init = (key: Key): readonly unknown[] =>
    parts.map((part, index) => (typeof part === "function" ? {} : part.init(foldIn(key, index))));
  const layer = parts.some(isStateful)
    ? {
        name,
        init,
        initState: () => parts.map((part) => (isStateful(part) ? part.initState() : {})),
        apply: (parameters: readonly unknown[], x: Tensor, context: StatefulContext<readonly unknown[]>) =>
          applyInTurn(parts, parameters, x, context, stateFor(parts, context)),
      }
    : {
        name,
        init,
        apply: (parameters: readonly unknown[], x: Tensor, context?: LayerContext) =>
          applyInTurn(parts, parameters, x, context, [])[0],
      };
  return layer as unknown as Sequential<L>;
}

/** Runs all parts. @returns the output, and each part's new state */
function applyInTurn(
  parts: readonly Part[],
  parameters: readonly unknown[],
  x: Tensor,
  context: LayerContext | undefined,
  states: readonly unknown[],
): readonly [Tensor, readonly unknown[]] {
  const next: unknown[] = [];
  const y = parts.reduce<Tensor>((input, part, index) => {
    const run = () =>
      applyPart(part, parameters[index] as Parameters<unknown>, input, context, states[index]);
    const [output, state] = labeledPart(parameters, String(index), partLabel(part, index), run);
    next.push(state);
    return output;
  }, x);
  return [y, next];
}

/** The name of a part in reports: its index and its own name. */
const partLabel = ({ name }: Part, index: number): string =>
  `${index} ${(name || "function").replaceAll("/", " ")}`;

/** @throws MP_INVALID_ARGUMENT if the context, or the state in it, belongs to another model */
function stateFor(parts: readonly Part[], context: StatefulContext<unknown> | undefined): readonly unknown[] {
  const state: unknown = context?.modelState;
  if (Array.isArray(state) && state.length === parts.length) return state;
  throw invalid(
    "sequential: has layers with statistics and needs the context with their state: model.apply(params, x, context); give model.initState() to the trainer as modelState, and where that holds more, { ...context, modelState: its part }",
  );
}
