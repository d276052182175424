/** Two programs of one operator that differ in one attribute are two programs. */
import type { Graph, Op } from "@mp/graph";
import { allowanceOf } from "../../../compare/allowance.js";
import type { ConformanceCase } from "../../../conformance-case.js";
import { randomSource } from "../../../random-source.js";
import { attributedOps, attributeVariants, nodeGraph, type Variants } from "./attribute-variants.js";
import { familyCase, type Program } from "./expect-apart.js";

function attributeCase(op: Op): ConformanceCase {
  /** Finding the variants takes most of the time. Their operators and dtypes do not depend on the data. */
  let needed: readonly Graph[] | undefined;
  const needs = (): readonly Graph[] => {
    needed ??= attributeVariants(op, randomSource(0, op)).flatMap(({ inputs, variants }) =>
      variants.map(({ attributes }) => nodeGraph(op, inputs, attributes, "y").graph),
    );
    return needed;
  };
  const made = new WeakMap<object, readonly Variants[]>();
  return familyCase(`program/${op}/differs-in-one-attribute`, needs, (tag, { random }) => {
    const all = made.get(random) ?? attributeVariants(op, random);
    made.set(random, all);
    return all.flatMap(({ inputs, variants }) =>
      variants.map(({ what, attributes }): Program => {
        const { graph, inputs: fed } = nodeGraph(op, inputs, attributes, tag);
        const dtypes = new Map(graph.outputs.map(({ name, value }) => [name, value.dtype]));
        return {
          what,
          graph,
          inputs: fed,
          allowance: (manifest, output) => allowanceOf(manifest, op, dtypes.get(output) ?? "f32"),
        };
      }),
    );
  });
}

export const attributeCases: readonly ConformanceCase[] = attributedOps.map(attributeCase);
