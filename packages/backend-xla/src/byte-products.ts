/** Whether a program multiplies 8-bit floats in the form that libraries take: widened, and scaled by one number. */
import { FAMILIES, type Graph, isEighth, type Op, opTable, type Value } from "@mp/graph";
import { deepNodes } from "@mp/graph/internal";

/** Whether both operands of a product of matrices are 8-bit floats that were widened, moved and scaled by a scalar. */
export function multipliesBytes(graph: Graph): boolean {
  const widened = new Set<Value | undefined>();
  for (const { op, inputs, outputs } of deepNodes(graph)) {
    const [x, y] = inputs;
    if ((FAMILIES.matrix as readonly Op[]).includes(op)) {
      if (widened.has(x) && widened.has(y)) return true;
      continue;
    }
    const isWidening = op === "Cast" && x !== undefined && isEighth(x.dtype);
    const isScaling = op === "Mul" && y?.shape.length === 0;
    const stays = widened.has(x) && (isScaling || opTable[op].moves !== undefined);
    if (isWidening || stays) widened.add(outputs[0]);
  }
  return false;
}
