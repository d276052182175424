import { type AnyNode, elementCount, isFloat, type Op, producers, Tensor, type Value } from "@mp/graph";
import { currentBuilder } from "@mp/graph/internal";

/** Positions of the operands whose infinities and NaN always make the result infinite or NaN. */
const CARRIED: { readonly [K in Op]?: readonly number[] } = {
  Add: [0, 1],
  Sub: [0, 1],
  Mul: [0, 1],
  Div: [0],
  Neg: [0],
  Cast: [0],
  Expand: [0],
  Reshape: [0],
};

/**
 * Drops the tensors whose infinities and NaN make another of the tensors infinite or NaN. A gradient that is added to a
 * weight shows in the new weight, so one check answers for both, in one pass instead of two. A gradient that an
 * optimizer clips, compares or divides by may not show in a weight, and stays.
 */
export function withoutImplied(tensors: readonly Tensor[]): readonly Tensor[] {
  const builder = currentBuilder("update");
  const makers = producers(builder);
  const covered = new Set<Value>();
  const values = tensors.map((tensor) => ({ tensor, value: Tensor.valueIn(tensor, builder, "update") }));
  // Goes from the last value to the first, since a value can only show in a later one.
  values.sort((a, b) => b.value.id - a.value.id);
  return values
    .filter(({ value }) => {
      if (covered.has(value)) return false;
      addCovered(value, makers, covered);
      return true;
    })
    .map(({ tensor }) => tensor);
}

/** Adds `value` and all values whose infinities and NaN show in it. */
function addCovered(value: Value, makers: ReadonlyMap<Value, AnyNode>, covered: Set<Value>): void {
  const open = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (covered.has(next)) continue;
    covered.add(next);
    const node = makers.get(next);
    // A value without elements, or of an integer or bool dtype, cannot be infinite or NaN.
    if (node === undefined || !isFloat(next.dtype) || elementCount(next.shape, "update") === 0) continue;
    for (const place of CARRIED[node.op] ?? []) open.push(node.inputs[place] as Value);
  }
}
