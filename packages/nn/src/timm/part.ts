/** The parts of a model, with descriptions of parameters from which they are drawn, or filled by a file. */
import {
  foldIn,
  type HostTensor,
  type Key,
  mapTree,
  type Shape,
  scope,
  type Tensor,
  type Tree,
} from "@mp/core";
import type { MapLeaves } from "@mp/core/graph";
import type { Initializer } from "../initializers.js";
import type { Parameters, ParameterTree } from "../layer.js";
import type { StatefulContext } from "../stateful-layer.js";

/** A parameter before it is made. */
export interface ParameterSpec {
  readonly shape: Shape;
  /** Draws the initial value. */
  draw(key: Key): HostTensor<"f32">;
}

export type SpecTree = Tree<ParameterSpec>;

export const spec = (shape: Shape, start: Initializer, fanIn = 1, fanOut = 1): ParameterSpec => ({
  shape,
  draw: (key) => start(key, shape, fanIn, fanOut),
});

/** Makes a tensor of each description in a tree. */
export const mapSpecs = (
  tree: SpecTree,
  make: (spec: ParameterSpec, path: string) => HostTensor<"f32">,
): ParameterTree => mapTree<unknown, ParameterSpec, HostTensor>(tree, isSpec, make) as ParameterTree;

const isSpec = (value: unknown): value is ParameterSpec =>
  typeof (value as Partial<ParameterSpec>).draw === "function";

/** Draws all parameters, each from the key and its path. */
export const drawSpecs = (tree: SpecTree, key: Key): ParameterTree =>
  mapSpecs(tree, (one, path) => one.draw(foldIn(key, path)));

export type Traced = Parameters<ParameterTree>;
export type Context = StatefulContext<ParameterTree>;

export interface Part {
  readonly parameters: SpecTree;
  /** Running statistics; empty for a part that has none. */
  readonly statistics: SpecTree;
  apply(own: Traced, x: Tensor, context: Context): readonly [y: Tensor, statistics: Traced];
}

/** Makes a part without statistics. */
export const stateless = <P extends SpecTree>(
  parameters: P,
  compute: (own: MapLeaves<P, ParameterSpec, Tensor>, x: Tensor) => Tensor,
): Part => ({
  parameters,
  statistics: {},
  apply: (own, x) => [compute(own as MapLeaves<P, ParameterSpec, Tensor>, x), {}],
});

/** Runs one of the parts in the scope of its name. */
export type RunPart = (name: string, x: Tensor) => Tensor;

type Named<T> = { readonly [name: string]: T };

/**
 * Makes a part of named parts. Its parameters, and statistics if any, are trees with these names. `body` computes the
 * output and runs each part once.
 */
export function namedParts(
  parts: Named<Part>,
  body: (run: RunPart, x: Tensor, context: Context) => Tensor,
): Part {
  const all = Object.entries(parts);
  const stateful = all.filter(([, { statistics }]) => Object.keys(statistics).length > 0);
  return {
    parameters: Object.fromEntries(all.map(([name, part]) => [name, part.parameters])),
    statistics: Object.fromEntries(stateful.map(([name, part]) => [name, part.statistics])),
    apply: (own, x, context) => {
      const states = (context?.modelState ?? {}) as Named<Traced>;
      const next = new Map<string, Traced>();
      const run: RunPart = (name, y) => {
        const part = parts[name] as Part;
        const [z, statistics] = scope(name, () =>
          part.apply((own as Named<Traced>)[name] as Traced, y, {
            ...context,
            modelState: states[name] ?? {},
          }),
        );
        next.set(name, statistics);
        return z;
      };
      const y = body(run, x, context);
      return [y, Object.fromEntries(stateful.map(([name]) => [name, next.get(name) as Traced]))];
    },
  };
}

/** Runs parts one after another; their names are 0, 1, 2 … */
export const inTurn = (parts: readonly Part[]): Part =>
  namedParts(Object.fromEntries(parts.entries()), (run, x) =>
    parts.reduce((y, _, at) => run(String(at), y), x),
  );
