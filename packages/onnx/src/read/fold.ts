// Exporters compute shapes in the graph: Shape, Gather, Concat, Reshape. Sizes are known here, so nodes that
// depend only on small constants are evaluated while reading, by the reference implementation.
import { elementCount, GraphBuilder, type HostTensor, MpError, type Value, zeros } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { literals } from "../literals.js";
import type { OnnxNode } from "../model.js";
import { toNumbers } from "../numbers.js";
import { NodeReader, type NodeResult, type ReadNode } from "./node/node-reader.js";
import { ValueTable } from "./node/value-table.js";

const MAX_ELEMENTS = 256;

/** Largest number of elements that reading one model may evaluate, so that a short file cannot demand much. */
export const FOLD_BUDGET: number = 2 ** 20;

/** Ops that read only an operand's dtype, with the operand's index. The operand's values may be unknown. */
const DTYPE_ONLY: Readonly<Record<string, number>> = { CastLike: 1 };

/** Ops that make or read sequences, or draw random numbers. */
const NOT_FOLDED: ReadonlySet<string> = new Set([
  "SplitToSequence",
  "SequenceConstruct",
  "SequenceAt",
  "RandomNormalLike",
  "RandomUniformLike",
]);

/** Evaluates a node whose operands are constants, and small unless `isAnySize`; undefined for other nodes. */
export function foldNode(
  node: OnnxNode,
  version: number,
  read: ReadNode,
  values: ValueTable,
  isAnySize = false,
): readonly HostTensor[] | undefined {
  const isSmall = ({ shape }: { readonly shape: readonly number[] }): boolean =>
    isAnySize || elementCount(shape, "fold") <= MAX_ELEMENTS;
  if (Object.values(node.attributes).some(({ kind }) => kind === "graph")) return undefined;
  const given = new Set(node.inputs.filter((name) => name !== ""));
  if (given.size === 0) return undefined;
  const builder = new GraphBuilder();
  const table = new ValueTable(builder);
  for (const name of given) {
    if (!values.has(name)) return undefined;
    if (node.inputs.indexOf(name) === DTYPE_ONLY[node.opType]) {
      const { dtype } = values.type(name);
      table.defineConstant(name, zeros([], dtype), false);
      continue;
    }
    if (values.isParameter(name)) return undefined;
    const tensor = values.constant(name);
    if (tensor === undefined || !isSmall(tensor)) return undefined;
    table.defineConstant(name, tensor, false);
  }
  if (NOT_FOLDED.has(node.opType)) return undefined;
  const results = new NodeReader(node, version, false, { values: table, builder }).run(read);
  const known = results.flatMap((result): readonly Value[] => {
    if ("narrow" in result) return [result.narrow];
    return "constant" in result || "sequence" in result ? [] : [result];
  });
  if (!known.every(isSmall)) return undefined;
  const graph = builder.finish(Object.fromEntries(known.map((value) => [`v${value.id}`, value])));
  const tensors = evaluateOrNot(graph);
  return tensors && results.map((result) => constant(result, tensors));
}

function constant(result: NodeResult, tensors: Readonly<Record<string, HostTensor>>): HostTensor {
  if ("constant" in result) return result.constant;
  if ("sequence" in result) throw new Error("internal: a sequence is no tensor");
  if (!("narrow" in result)) return tensors[`v${result.id}`] as HostTensor;
  const tensor = tensors[`v${result.narrow.id}`] as HostTensor;
  return literals(toNumbers(tensor), "i64", tensor.shape);
}

/** Evaluates a graph; undefined if that fails, as for an index out of range, which the engine will report. */
function evaluateOrNot(graph: Parameters<typeof evaluate>[0]): ReturnType<typeof evaluate> | undefined {
  try {
    return evaluate(graph, {});
  } catch (error) {
    if (MpError.is(error)) return undefined;
    throw error;
  }
}
