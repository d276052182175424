/** Describes the parameters of a model before they are made: shapes by published name, and initial values. */

import { foldIn, type HostTensor, type Key, leavesOf, mapTree, type Shape, type Tree } from "@mp/core";
import { constantValue, normal } from "@mp/nn";
import type { LinearPlace } from "@mp/nn/adapters";

export interface ParameterSpec {
  readonly shape: Shape;
  /** The initial value: a constant, or drawn from a normal distribution. */
  readonly start: "normal" | 0 | 1;
  /** Whether the parameter is the weight of a linear layer, [outputs, inputs]. */
  readonly isLinear?: true;
  /** Whether this weight is [inputs, outputs] instead. */
  readonly isInputsFirst?: true;
  /** Scales the standard deviation of normal initial values; default 1. */
  readonly factor?: number;
}

export type SpecTree = Tree<ParameterSpec>;

export const spec = (shape: Shape, start: ParameterSpec["start"]): ParameterSpec => ({ shape, start });

const isSpec = (value: unknown): value is ParameterSpec =>
  Array.isArray((value as Partial<ParameterSpec>).shape);

/** Replaces each parameter description in a tree by the result of `make`. */
export const mapSpecs = <T>(tree: SpecTree, make: (spec: ParameterSpec, path: string) => T): Tree<T> =>
  mapTree<unknown, ParameterSpec, T>(tree, isSpec, make) as Tree<T>;

const listSpecs = (tree: SpecTree) => leavesOf<ParameterSpec>(tree, isSpec, "parameters");

/** Draws initial values; the standard deviation of normal ones is `deviation` times the spec's `factor`. */
export const initParameters = (tree: SpecTree, key: Key, deviation: number): Tree<HostTensor<"f32">> =>
  mapSpecs(tree, ({ shape, start, factor = 1 }, path) => {
    const initializer = start === "normal" ? normal(deviation * factor) : constantValue(start);
    return initializer(foldIn(key, path), shape, 1, 1);
  });

/** The shape of each parameter, by path. */
export const listShapes = (tree: SpecTree): ReadonlyMap<string, Shape> =>
  new Map(listSpecs(tree).map(([path, { shape }]) => [path, shape]));

/** Lists the linear layers among the parameters; the layer at the path `head` computes the logits. */
export const listLinearLayers = (tree: SpecTree, head: string): readonly LinearPlace[] =>
  listSpecs(tree).flatMap(([at, { shape, isLinear, isInputsFirst = false }]) => {
    const [outputs, inputs] = isInputsFirst ? shape.toReversed() : shape;
    if (isLinear === undefined || outputs === undefined || inputs === undefined) return [];
    const path = at.slice(0, at.lastIndexOf("/"));
    return [{ path, inputs, outputs, isInputsFirst, isHead: path === head }];
  });
