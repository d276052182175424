import { bytesPerElement, type DType } from "../../dtype.js";
import type { GraphBuilder } from "../../graph/build/builder.js";
import { type AnyNode, isNode, producers, type Value } from "../../graph/graph.js";
import { elementCount, type Shape } from "../../shape.js";
import { gemm } from "../../trace/ops/matrix.js";
import { reshape } from "../../trace/ops/movement.js";
import { reduceSum } from "../../trace/ops/reduce.js";
import { cast } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import { toShape } from "./rule.js";

/**
 * A term of a sum over steps, which one operator computes for all steps together: Σ Aᵗᵀ·Bᵗ over the steps t is one
 * product of the rows of all steps, and a sum of sums over rows is one sum.
 */
export interface StepTerm {
  /** Values of one step, to be stacked for all steps. */
  readonly operands: readonly Value[];
  /** Computes the sum over all steps from the stacked operands, [steps, …]. */
  readonly emit: (stacked: readonly Tensor[]) => Tensor;
}

export interface StepSum {
  readonly terms: readonly StepTerm[];
  /** The remaining part of the sum, to add up step by step; undefined if nothing remains. */
  readonly rest: Value | undefined;
}

/** Splits a value that is summed over all steps into terms. `isPerStep`: whether a value may differ between steps. */
export function stepTerms(builder: GraphBuilder, sum: Value, isPerStep: (value: Value) => boolean): StepSum {
  const makers = producers(builder);
  const terms: StepTerm[] = [];
  const rest: Value[] = [];
  const split = (value: Value): void => {
    const node = makers.get(value);
    if (node?.op === "Add" && node.inputs.every(({ shape }) => shape.join() === value.shape.join())) {
      for (const input of node.inputs) split(input);
      return;
    }
    const term = findTerm(value, makers);
    if (term?.operands.every(isPerStep) === true) terms.push(term);
    else rest.push(value);
  };
  split(sum);
  if (terms.length === 0) return { terms, rest: sum };
  const [first, ...others] = rest;
  if (first === undefined) return { terms, rest: undefined };
  const left = others.reduce((total, value) => builder.emitOne("Add", [total, value], {}), first);
  return { terms, rest: left };
}

function findTerm(value: Value, makers: ReadonlyMap<Value, AnyNode>): StepTerm | undefined {
  const node = makers.get(value);
  if (node === undefined) return undefined;
  const [x, y] = node.inputs;
  if (x === undefined) return undefined;
  if (node.op === "Reshape" || node.op === "Squeeze" || node.op === "Unsqueeze") {
    const inner = findTerm(x, makers);
    return inner && { ...inner, emit: (stacked) => reshape(inner.emit(stacked), value.shape) };
  }
  if (isNode(node, "ReduceSum")) {
    const source = findSource(x, makers);
    const axes = [0, ...node.attributes.axes.map((axis) => axis + 1)];
    return {
      operands: [source],
      emit: ([all]) => toShape(reduceSum(stackAll(all, x.dtype, x.shape), { axes }), value.shape),
    };
  }
  if (y === undefined || !isNode(node, "Gemm")) return undefined;
  const { transA, transB, alpha } = node.attributes;
  if (!transA || transB || node.inputs.length > 2) return undefined;
  const flattenRows = (all: Tensor | undefined, operand: Value): Tensor => {
    const { dtype, shape } = operand;
    const stacked = stackAll(all, dtype, shape);
    return reshape(stacked, [elementCount(stacked.shape, "scan") / (shape[1] as number), shape[1] as number]);
  };
  return {
    operands: [findSource(x, makers), findSource(y, makers)],
    emit: ([a, b]) => gemm(flattenRows(a, x), flattenRows(b, y), undefined, { transA, alpha }),
  };
}

/** Turns an operand's stacked source into the stacked operand: [steps, ...shape], in the operand's dtype. */
function stackAll(stacked: Tensor | undefined, dtype: DType, shape: Shape): Tensor {
  if (stacked === undefined) throw new Error("internal: a term's operand is missing");
  return cast(toShape(stacked, [stacked.shape[0] as number, ...shape]), dtype);
}

/** The source that `value` is a view of or was widened from; stacking the source takes no more memory. */
function findSource(value: Value, makers: ReadonlyMap<Value, AnyNode>): Value {
  const node = makers.get(value);
  return node !== undefined && isFree(node) ? findSource(node.inputs[0] as Value, makers) : value;
}

/** Whether a node is a view or a widening cast: it costs nothing, and its operand is no larger than its result. */
export function isFree({ op, inputs, outputs }: AnyNode): boolean {
  const [x] = inputs;
  const [y] = outputs;
  if (x === undefined || y === undefined) return false;
  if (op === "Cast") return bytesPerElement[x.dtype] <= bytesPerElement[y.dtype];
  return op === "Reshape" || op === "Squeeze" || op === "Unsqueeze";
}
