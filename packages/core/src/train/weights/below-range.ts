import {
  type DType,
  type FloatDType,
  floatFormats,
  isTensor,
  mapTree,
  producers,
  Tensor,
  type TensorTree,
} from "@mp/graph";
import { currentBuilder } from "@mp/graph/internal";
import { abs, and, cast, greater, less, reduceMean } from "@mp/graph/ops";

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
  const widen = (leaf: Tensor): Tensor => {
    const maker = makers.get(Tensor.valueIn(leaf, builder, "update"));
    const [from] = maker?.op === "Cast" ? maker.inputs : [];
    return from === undefined ? leaf : Tensor.of(from);
  };
  return mapTree(state, isTensor, (leaf): TensorTree => {
    const { dtype, shape } = leaf;
    if (!isNarrow(dtype) || shape.includes(0)) return {};
    return shareBelow(widen(leaf), dtype);
  }) as TensorTree;
}

/** f32 scalar: the share of elements that are not 0 and below the normal range of a dtype. */
export function shareBelow(x: Tensor, dtype: FloatDType): Tensor {
  const size = abs(cast(x, "f32"));
  const isBelow = and(greater(size, 0), less(size, floatFormats[dtype].minNormal));
  return reduceMean(cast(isBelow, "f32"));
}
