/** Linear layers with the layout of published files, alone or with an adapter. */

import type { DType, Tensor } from "@mp/core";
import { add, cast, gather, matMul, mul, reshape, transpose } from "@mp/core/ops";
import { dropout, type LayerContext } from "@mp/nn";
import { type LinearPart, withWeight } from "@mp/nn/internal";
import { type ParameterSpec, spec } from "./parameter-spec.js";

/** Path of the linear layer that computes the logits; a model with tied embeddings has none. */
export const HEAD = "lm_head";

type LinearSpec = {
  readonly weight: ParameterSpec & { readonly isLinear: true };
  readonly bias?: ParameterSpec;
};

export function linearSpec(inputs: number, outputs: number, hasBias = false): LinearSpec {
  const weight = { ...spec([outputs, inputs], "normal"), isLinear: true } as const;
  return hasBias ? { weight, bias: spec([outputs], 0) } : { weight };
}

/** The type of a tree of parameters in a traced function. */
export type TensorsOf<S> = S extends ParameterSpec
  ? Tensor
  : S extends LinearSpec
    ? LinearPart
    : { readonly [K in keyof S]: TensorsOf<S[K]> };

/** x · Wᵀ + b + scale · (dropout(x) · Aᵀ) · Bᵀ: [..., inputs] to [..., outputs]. */
export function linear(
  { weight, bias, adapter, isInputsFirst }: LinearPart,
  x: Tensor,
  context: LayerContext | undefined,
): Tensor {
  const product = withWeight(weight, (own) =>
    isInputsFirst === true ? matMul(x, widen(own, x.dtype)) : times(x, own),
  );
  const own = bias === undefined ? product : add(product, widen(bias, x.dtype));
  if (adapter === undefined) return own;
  const { down, up, scale, dropout: rate } = adapter;
  const read = rate === 0 ? x : dropout(rate).apply({}, x, context);
  return add(own, mul(times(times(read, down), up), scale));
}

/** x · Wᵀ. For a single row, as in generation, computes W · xᵀ: engines need no transposed copy of W. */
function times(x: Tensor, weight: Tensor): Tensor {
  const wide = widen(weight, x.dtype);
  const rows = x.shape.slice(0, -1);
  if (rows.some((count) => count !== 1)) return matMul(x, transpose(wide, [1, 0]));
  const [outputs = 0, inputs = 0] = weight.shape;
  return reshape(matMul(wide, reshape(x, [inputs, 1])), [...rows, outputs]);
}

/** Looks up rows of a table of any float dtype, and casts only these rows to f32. */
export const embed = (table: Tensor, indices: Tensor): Tensor => widen(gather(table, indices), "f32");

/** Casts a frozen 16-bit weight to the dtype of its input, so that the policy decides the dtype of the product. */
export const widen = (weight: Tensor, dtype: DType): Tensor =>
  weight.dtype === dtype ? weight : cast(weight, dtype);
