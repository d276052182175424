/** Two programs of one operator that differ in one attribute are two programs. */
import type { Op } from "@mp/core/graph";
import { allowanceOf } from "../../../compare/allowance.js";
import type { ConformanceCase } from "../../../conformance-case.js";
import { randomSource } from "../../../random-source.js";
import { attributedOps, attributeVariants, nodeGraph } from "./attribute-variants.js";
import { familyCase, type Program } from "./expect-apart.js";

function attributeCase(op: Op): ConformanceCase {
  const first = randomSource(0, op);
  const needs = () =>
    attributeVariants(op, first).flatMap(({ inputs, variants }) =>
      variants.map(({ attributes }) => nodeGraph(op, inputs, attributes, "y").graph),
    );
  return familyCase(`program/${op}/differs-in-one-attribute`, needs, (tag, { random }) =>
    attributeVariants(op, random).flatMap(({ inputs, variants }) =>
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
    ),
  );
}

export const attributeCases: readonly ConformanceCase[] = attributedOps.map(attributeCase);
