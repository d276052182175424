import { toNumbers } from "../numbers.js";
import type { NodeResult, ReadNode } from "./node/node-reader.js";

/** Emits the nodes of the branch that a constant condition selects; the other branch is not read. */
export const branch: ReadNode = (reader) => {
  const condition = reader.constant(0);
  if (condition?.data.length !== 1) return reader.unsupported("has a condition of more than one element");
  const [chosen, other] =
    toNumbers(condition)[0] === 0 ? ["else_branch", "then_branch"] : ["then_branch", "else_branch"];
  reader.graph(other as string);
  const { graph, captured, known } = reader.body(reader.graph(chosen as string), []);
  return reader.inline(graph, captured).map((value, index): NodeResult => {
    const constant = known.get(index);
    return constant === undefined ? value : { constant };
  });
};
