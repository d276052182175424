import { foldIn, type Key, scope, type Tensor } from "@mp/core";
import { add } from "@mp/core/ops";
import { invalid, mismatch } from "./errors.js";
import type { Layer, Parameters } from "./layer.js";
import { applyPart, isStateful, type ParametersOfPart, type Part, type StateOfPart } from "./part.js";
import type { StatefulContext, StatefulLayer } from "./stateful-layer.js";

type Branches<B, S> = { readonly body: B; readonly shortcut: S };
export type ResidualParameters<B, S> = Branches<ParametersOfPart<B>, ParametersOfPart<S>>;
export type ResidualState<B, S> = Branches<StateOfPart<B>, StateOfPart<S>>;
/** The type of a residual layer, with statistics if body or shortcut has statistics. */
export type Residual<B, S> = [Extract<B | S, { initState(): unknown }>] extends [never]
  ? Layer<ResidualParameters<B, S>>
  : StatefulLayer<ResidualParameters<B, S>, ResidualState<B, S>>;

const input = (x: Tensor): Tensor => x;

/**
 * x + body(x) (He et al., arXiv 1512.03385), or shortcut(x) + body(x) if the body changes the shape. If body
 * or shortcut has statistics, so does this layer: `apply` then returns `[y, newState]`.
 * @throws MP_INVALID_ARGUMENT for branches that are not layers; MP_SHAPE_MISMATCH if their results differ in shape
 */
export function residual<const B extends Part, const S extends Part = typeof input>(
  body: B,
  shortcut?: S,
): Residual<B, S> {
  const branches: Branches<Part, Part> = { body, shortcut: shortcut ?? input };
  for (const [name, part] of Object.entries(branches)) {
    const { init, apply } = (part ?? {}) as Partial<Layer<unknown>>;
    if (typeof part === "function" || (typeof init === "function" && typeof apply === "function")) continue;
    throw invalid(`residual: the ${name} must be a layer or a function, got ${typeof part}`);
  }
  const each = <T>(make: (part: Part, name: keyof Branches<Part, Part>) => T): Branches<T, T> => ({
    body: make(branches.body, "body"),
    shortcut: make(branches.shortcut, "shortcut"),
  });
  const run = (
    parameters: Branches<Parameters<unknown>, Parameters<unknown>>,
    x: Tensor,
    context: StatefulContext<Branches<unknown, unknown>> | undefined,
  ) => {
    const states = context?.modelState as Partial<Branches<unknown, unknown>> | undefined;
    const made = each((part, name) =>
      scope(name, () => applyPart(part, parameters[name], x, context, states?.[name])),
    );
    const [y, other] = [made.body[0], made.shortcut[0]];
    if (y.shape.join() !== other.shape.join()) {
      const remedy = shortcut === undefined ? "pass a shortcut that changes x alike" : "make them alike";
      throw mismatch(
        `residual: the body gives [${y.shape.join(", ")}] and the shortcut [${other.shape.join(", ")}]; ${remedy}`,
      );
    }
    return { y: add(y, other), state: { body: made.body[1], shortcut: made.shortcut[1] } };
  };
  const init = (key: Key) =>
    each((part, name) => (typeof part === "function" ? {} : part.init(foldIn(key, name))));
  const apply: typeof run = (parameters, x, context) => scope("residual", () => run(parameters, x, context));
  const layer = Object.values(branches).some(isStateful)
    ? {
        name: "residual",
        init,
        initState: () => each((part) => (isStateful(part) ? part.initState() : {})),
        apply: (...given: globalThis.Parameters<typeof run>) => {
          const { y, state } = apply(...given);
          return [y, state];
        },
      }
    : { name: "residual", init, apply: (...given: globalThis.Parameters<typeof run>) => apply(...given).y };
  return layer as unknown as Residual<B, S>;
}
