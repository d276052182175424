import type { DType, Shape, ValueType } from "@mp/graph";
import { type } from "../graph/attributes.js";
import type { ScopeWriter } from "../graph/scope-writer.js";
import type { Term } from "../graph/term.js";

/** Marks a term whose elements are all +0. */
export function markZero(term: Term): Term {
  term.writer.zeros.add(term.name);
  return term;
}

/**
 * Makes zeros, the result of a sum without terms. Not every kernel writes zeros there. On the CPU a product crashes if
 * two nodes read its result, and filter gradients leave uninitialized memory.
 */
export function fillZeros({ dtype, shape }: ValueType, writer: ScopeWriter): Term {
  return markZero(fill(0, dtype, shape, writer));
}

/** A tensor filled with one number. */
export function fill(number: Term | 0, dtype: DType, shape: Shape, writer: ScopeWriter): Term {
  const inputs = [writer.ints(shape), number === 0 ? writer.scalar(0, dtype) : number];
  return writer.term("Fill", inputs, { T: type(dtype), index_type: type("i32") }, { dtype, shape });
}
