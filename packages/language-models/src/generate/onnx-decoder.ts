/**
 * Exports a model as a decoder for optimum and Transformers.js, without state between runs. The keys and
 * values of earlier tokens are inputs, empty at first; those of earlier and new tokens are outputs.
 */

import type { Shape, Tensor, Traced } from "@mp/core";
import { and, attention, cast, concat, equal, lessOrEqual, or, range, reshape } from "@mp/core/ops";
import type { LayerContext } from "@mp/nn";
import { withinWindow } from "../decoders/causal-attention.js";
import type { CausalLm, CausalLmParameters } from "../decoders/causal-lm.js";
import type { Attend } from "../decoders/decoder.js";
import { modelPart } from "./generator.js";

/** A layer for `exportOnnx`, with the options that describe its inputs. */
export interface OnnxDecoder {
  readonly signature: {
    readonly inputs: Readonly<Record<string, { readonly shape: Shape; readonly dtype: "f32" | "i64" }>>;
    readonly dynamicAxes: Readonly<Record<string, Readonly<Record<number, string>>>>;
  };
  apply(
    params: Traced<CausalLmParameters>,
    inputs: Readonly<
      Record<"input_ids" | "attention_mask" | "position_ids", Tensor> & Record<string, Tensor>
    >,
    context: LayerContext,
  ): Readonly<Record<string, Tensor>>;
}

const BATCH = "batch_size";
const TIME = "sequence_length";
const PAST = "past_sequence_length";

/**
 * Wraps a model as a layer with the inputs and outputs of optimum's decoders: `input_ids`, `attention_mask`
 * for past and new tokens, `position_ids`, `past_key_values.0.key` … to `logits`, `present.0.key` …, for any
 * numbers of texts, new tokens and past tokens.
 * @example
 * ```ts
 * const decoder = onnxDecoder(model);
 * const file = exportOnnx(decoder, { params }, { ...decoder.signature, dtype: "f16" });
 * ```
 * @throws MP_INVALID_ARGUMENT for a value that is not a model of `causalLm`
 */
export function onnxDecoder(model: CausalLm): OnnxDecoder {
  modelPart("onnxDecoder: model", model);
  const { layers, keyHeads, headSize } = model.sizes;
  const cached = Array.from({ length: layers }, (_, layer) => [`${layer}.key`, `${layer}.value`]).flat();
  const tokens = { shape: [1, 1], axes: { 0: BATCH, 1: TIME }, dtype: "i64" } as const;
  const past = { shape: [1, keyHeads, 1, headSize], axes: { 0: BATCH, 2: PAST }, dtype: "f32" } as const;
  const inputs = Object.entries({
    input_ids: tokens,
    attention_mask: { shape: [1, 2], axes: { 0: BATCH, 1: `${PAST} + ${TIME}` }, dtype: "i64" } as const,
    position_ids: tokens,
    ...Object.fromEntries(cached.map((name) => [`past_key_values.${name}`, past])),
  });
  return {
    signature: {
      inputs: Object.fromEntries(inputs.map(([name, { shape, dtype }]) => [name, { shape, dtype }])),
      dynamicAxes: Object.fromEntries(inputs.map(([name, { axes }]) => [name, axes])),
    },
    apply: (params, { input_ids: ids, attention_mask: isToken, position_ids: places, ...past }, context) => {
      const [time, whole] = [ids.shape[1] as number, isToken.shape[1] as number];
      const [rows, columns] = [reshape(range(whole - time, whole), [time, 1]), range(0, whole)];
      const seen = combineMask(isToken, rows, columns);
      const present: Record<string, Tensor> = {};
      const afterPast = (name: string, own: Tensor): Tensor => {
        const whole = concat([past[`past_key_values.${name}`] as Tensor, own], 2);
        present[`present.${name}`] = whole;
        return whole;
      };
      const attend: Attend = (layer, heads) => {
        const [keys, values] = [
          afterPast(`${layer}.key`, heads.key),
          afterPast(`${layer}.value`, heads.value),
        ];
        return attention(heads.query, keys, values, { mask: withinWindow(heads, rows, columns, seen) });
      };
      const input = { ids: cast(ids, "i32"), positions: cast(places, "i32"), attend };
      return { logits: model.apply(params, input, context), ...present };
    },
  };
}

/** The mask of new tokens, bool [batch, 1, time, past + time]: true for real tokens that are not later. */
function combineMask(isToken: Tensor, rows: Tensor, columns: Tensor): Tensor {
  const [batch, whole] = isToken.shape as readonly [number, number];
  const seen = and(lessOrEqual(columns, rows), cast(reshape(isToken, [batch, 1, 1, whole]), "bool"));
  // Padding attends to itself: ONNX Runtime 1.23 gives NaN for a token that attends to nothing, and 0 · NaN spreads it.
  return or(seen, equal(columns, rows));
}
