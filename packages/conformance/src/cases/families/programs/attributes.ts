/** Two programs with the same operator and one different attribute must not be confused. */
import { type DType, isHostTensor, type Op, type OpAttributes, opDTypes } from "@mp/graph";
import { manifestAllowance } from "../../../compare/allowance.js";
import type { ConformanceCase } from "../../../conformance-case.js";
import { type RandomSource, randomSource } from "../../../random-source.js";
import { formTable } from "../../rewrites/form-table.js";
import { inputKit } from "../../rewrites/pattern-cases.js";
import { familyCase, type Program } from "./expect-apart.js";

interface Form {
  readonly attributes: object;
  readonly others?: readonly object[];
}

const form = (op: Op, dtype: DType): Form => formTable(dtype)[op];

const text = (attributes: object): string =>
  JSON.stringify(attributes, (_key, part: unknown) => {
    if (typeof part === "bigint") return `${part}n`;
    if (isHostTensor(part)) return "a tensor";
    return typeof part === "object" && part !== null && "nodes" in part ? "a graph" : part;
  });

/** Programs with one node each: the operator's, and variants with one other attribute, all on the same operands. */
function programs(op: Op, dtype: DType, start: number): readonly Program[] {
  const { attributes, others = [] } = form(op, dtype);
  return [{}, ...others].map((other): Program => {
    const random: RandomSource = randomSource(start, op);
    const { builder, inputs, kit } = inputKit(dtype, random);
    const operands = formTable(dtype)[op].operands(kit);
    const results = builder.emit(op, operands, { ...attributes, ...other } as OpAttributes[Op]);
    const graph = builder.finish(new Map(results.map((value, at) => [`y${at}`, value])));
    const dtypes = new Map(graph.outputs.map(({ name, value }) => [name, value.dtype]));
    return {
      what: `${op} with ${text({ ...attributes, ...other })}`,
      graph,
      inputs,
      allowance: (manifest, output) => manifestAllowance(manifest, op, dtypes.get(output) ?? dtype),
    };
  });
}

export const attributeCases: readonly ConformanceCase[] = (Object.keys(opDTypes) as Op[]).flatMap((op) => {
  // Ops that list i32 but not f32 name the dtype of their indices or attributes; their results are f32.
  const dtype = opDTypes[op].includes("f32") || opDTypes[op].includes("i32") ? "f32" : opDTypes[op][0];
  if (dtype === undefined || (form(op, dtype).others ?? []).length === 0) return [];
  return familyCase(
    `program/${op}/differs-in-one-attribute`,
    () => programs(op, dtype, 0).map(({ graph }) => graph),
    ({ random }) => programs(op, dtype, random.integer(0, 2 ** 31)),
  );
});
