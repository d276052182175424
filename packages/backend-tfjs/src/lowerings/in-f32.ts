/** Computes nodes in another dtype: operands are converted before the node, results are converted back. */
import { type DType, isEighth, isHalf, type Op } from "@mp/graph";
import type { Term } from "../graph/term.js";
import { type Lowering, type Operands, resultAt } from "./lowering.js";
import { markZero } from "./zeros.js";

function inOther<K extends Op>(
  lowering: Lowering<K>,
  other: (dtype: DType) => DType,
  convert: (term: Term, to: DType) => Term,
): Lowering<K> {
  return (node, operands, writer) => {
    const given = operands.map((operand) => convert(operand, other(operand.dtype)));
    const results = lowering(node, given as unknown as Operands, writer);
    return results.map((result, index) => {
      const { dtype } = resultAt(node, index);
      return other(dtype) === dtype ? result : convert(result, dtype);
    });
  };
}

/** Wraps a lowering of several nodes to compute half dtypes in f32, so that only results are rounded. */
export function inF32<K extends Op>(lowering: Lowering<K>): Lowering<K> {
  return inOther(
    lowering,
    (dtype) => (isHalf(dtype) ? "f32" : dtype),
    (term, to) => (term.isZero ? markZero(term.cast(to)) : term.cast(to)),
  );
}

/** Wraps a lowering to move f8 as f16, which holds all f8 values, because few of the engine's ops can move f8. */
export function throughF16<K extends Op>(lowering: Lowering<K>): Lowering<K> {
  return inOther(
    lowering,
    (dtype) => (isEighth(dtype) ? "f16" : dtype),
    (term, to) => term.cast(to),
  );
}
