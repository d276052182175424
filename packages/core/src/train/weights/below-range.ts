import { type DType, type FloatDType, floatFormats } from "../../dtype.js";
import { producers } from "../../graph/graph.js";
import type { TensorTree } from "../../trace/map-tensors.js";
import { and, greater, less } from "../../trace/ops/binary.js";
import { reduceMean } from "../../trace/ops/reduce.js";
import { abs, cast } from "../../trace/ops/unary.js";
import { isTensor, Tensor } from "../../trace/tensor.js";
import { currentBuilder } from "../../trace/trace.js";
import { mapTree } from "../../tree.js";

/** The formats whose normal numbers end far above those of f32. */
const isNarrow = (dtype: DType): dtype is "f16" | "f8e4m3" | "f8e5m2" =>
  dtype === "f16" || dtype === "f8e4m3" || dtype === "f8e5m2";

/**
 * The share of the elements of each tensor of a state that are not 0 and below the normal range of the dtype that it is
 * stored in, before they are rounded to it; f32 scalars by the names of the tensors, of those in narrow dtypes alone.
 */
export function sharesBelowRange(state: TensorTree): TensorTree {
  const builder = currentBuilder("update");
  const makers = producers(builder);
  const unrounded = (leaf: Tensor): Tensor => {
    const maker = makers.get(Tensor.valueIn(leaf, builder, "update"));
    const [from] = maker?.op === "Cast" ? maker.inputs : [];
    return from === undefined ? leaf : Tensor.of(from);
  };
  return mapTree(state, isTensor, (leaf): TensorTree => {
    const { dtype, shape } = leaf;
    if (!isNarrow(dtype) || shape.includes(0)) return {};
    return shareBelow(unrounded(leaf), dtype);
  }) as TensorTree;
}

/** f32 scalar: the share of elements that are not 0 and below the normal range of a dtype. */
export function shareBelow(x: Tensor, dtype: FloatDType): Tensor {
  const size = abs(cast(x, "f32"));
  const isBelow = and(greater(size, 0), less(size, floatFormats[dtype].minNormal));
  return reduceMean(cast(isBelow, "f32"));
}
