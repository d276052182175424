import {
  type DType,
  type EighthDType,
  type FloatDType,
  floatFormats,
  isEighth,
  isTensor,
  mapTree,
  producers,
  Tensor,
  type TensorTree,
} from "@mp/graph";
import { currentBuilder } from "@mp/graph/internal";
import { abs, and, cast, greater, less, reduceMean } from "@mp/graph/ops";

/** Whether the smallest normal number of a dtype is far larger than f32's. */
const isNarrow = (dtype: DType): dtype is "f16" | EighthDType => dtype === "f16" || isEighth(dtype);

/**
 * Fractions of elements that are nonzero and, before rounding, below the normal range: an f32 scalar for each tensor of
 * the state in a narrow dtype.
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

/** Fraction of elements that are nonzero and below the dtype's normal range, an f32 scalar. */
export function shareBelow(x: Tensor, dtype: FloatDType): Tensor {
  const size = abs(cast(x, "f32"));
  const isBelow = and(greater(size, 0), less(size, floatFormats[dtype].minNormal));
  return reduceMean(cast(isBelow, "f32"));
}
