/** Describes the parameters of a model before they exist: shapes by published names, and initial values. */

import { foldIn, type HostTensor, type Key, leavesOf, mapTree, type Shape, type Tree } from "@mp/core";
import { constantValue, type Initializer, normal } from "@mp/nn";
import type { LinearPlace } from "@mp/nn/adapters";

type Start = "normal" | "zeros" | "ones";

export interface ParameterSpec {
  readonly shape: Shape;
  readonly start: Start;
  /** Whether the parameter is the weight, [outputs, inputs], of a linear layer. */
  readonly isLinear?: true;
  /** Whether the weight is [inputs, outputs] instead. */
  readonly isInputsFirst?: true;
  /** Factor of the standard deviation of normal initial values; default 1. */
  readonly factor?: number;
}

export type SpecTree = Tree<ParameterSpec>;

export const spec = (shape: Shape, start: Start): ParameterSpec => ({ shape, start });

const isSpec = (value: unknown): value is ParameterSpec =>
  typeof value === "object" && value !== null && "start" in value && typeof value.start === "string";

/** Maps each parameter of a tree by `make`. */
export const mapSpecs = <T>(tree: SpecTree, make: (spec: ParameterSpec, path: string) => T): Tree<T> =>
  mapTree<unknown, ParameterSpec, T>(tree, isSpec, make) as Tree<T>;

/** Draws the initial values; normal ones have this standard deviation. */
export function initParameters(tree: SpecTree, key: Key, deviation: number): Tree<HostTensor<"f32">> {
  const starts: Readonly<Record<Start, (factor: number) => Initializer>> = {
    normal: (factor) => normal(deviation * factor),
    zeros: () => constantValue(0),
    ones: () => constantValue(1),
  };
  return mapSpecs(tree, ({ shape, start, factor = 1 }, path) =>
    starts[start](factor)(foldIn(key, path), shape, 1, 1),
  );
}

/** The linear layers among the parameters; the one at `head` gives the logits. */
export function listLinearLayers(tree: SpecTree, head: string): readonly LinearPlace[] {
  return leavesOf<ParameterSpec>(tree, isSpec, "parameters").flatMap(
    ([at, { shape, isLinear, isInputsFirst = false }]) => {
      const [outputs, inputs] = isInputsFirst ? shape.toReversed() : shape;
      if (isLinear === undefined || outputs === undefined || inputs === undefined) return [];
      const path = at.slice(0, at.lastIndexOf("/"));
      return [{ path, inputs, outputs, isInputsFirst, isHead: path === head }];
    },
  );
}
