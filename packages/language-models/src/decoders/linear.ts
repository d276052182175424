/** Linear layers in the form of published files, alone or with an adapter beside the weight. */

import type { Tensor } from "@mp/core";
import { add, cast, matMul, mul, reshape, transpose } from "@mp/core/ops";
import { dropout, type LayerContext } from "@mp/nn";
import { type LinearPart, withWeight } from "@mp/nn/internal";
import { type ParameterSpec, spec } from "./parameter-spec.js";

/** The path of the linear layer that gives the logits, unless the embeddings do. */
export const HEAD = "lm_head";

type LinearSpec = {
  readonly weight: ParameterSpec & { readonly isLinear: true };
  readonly bias?: ParameterSpec;
};

export function linearSpec(inputs: number, outputs: number, hasBias = false): LinearSpec {
  const weight = { ...spec([outputs, inputs], "normal"), isLinear: true } as const;
  return hasBias ? { weight, bias: spec([outputs], "zeros") } : { weight };
}

/** A tree of parameters as a traced function sees it. */
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
    isInputsFirst === true ? matMul(x, widen(own, x)) : times(x, own),
  );
  const own = bias === undefined ? product : add(product, widen(bias, x));
  if (adapter === undefined) return own;
  const { down, up, scale, dropout: rate } = adapter;
  const read = rate === 0 ? x : dropout(rate).apply({}, x, context);
  return add(own, mul(times(times(read, down), up), scale));
}

/** x · Wᵀ. A single row, as in generation, takes W · xᵀ: no engine then makes a transposed copy of all weights. */
function times(x: Tensor, weight: Tensor): Tensor {
  const wide = widen(weight, x);
  const rows = x.shape.slice(0, -1);
  if (rows.some((count) => count !== 1)) return matMul(x, transpose(wide, [1, 0]));
  const [outputs = 0, inputs = 0] = weight.shape;
  return reshape(matMul(wide, reshape(x, [inputs, 1])), [...rows, outputs]);
}

/** Casts a frozen 16-bit weight to the input's dtype, so that the policy decides the dtype of the product. */
export const widen = (weight: Tensor, x: Tensor): Tensor =>
  weight.dtype === x.dtype ? weight : cast(weight, x.dtype);
