import { type AnyNode, decidingDType, isHalf } from "@mp/graph";
import { pairKey } from "@mp/graph/backend";
import { isOverRows } from "./graph/term.js";
import type { Findings } from "./probe/findings.js";

/** Whether a node is computed in f32 because the engine has no correct kernel for its half dtype. */
export function isWidened(node: AnyNode, { widened, columnSums }: Findings): boolean {
  const dtype = decidingDType(node);
  if (!widened.has(pairKey({ op: node.op, dtype }))) return false;
  const isNative = isHalf(dtype) && columnSums.has(dtype);
  return !(isNative && isColumnSum(node));
}

function isColumnSum(node: AnyNode): boolean {
  return node.op === "ReduceSum" && isOverRows(node.inputs[0]?.shape ?? [], node.attributes.axes);
}
