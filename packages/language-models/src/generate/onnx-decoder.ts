/**
 * Exports a model as a decoder for optimum and Transformers.js. It has no state between runs: keys and values of
 * earlier tokens are inputs, empty at first; with those of the new tokens appended they are outputs.
 */

import type { Shape, Tensor, Traced } from "@mp/core";
import { and, attention, cast, concat, equal, lessOrEqual, or, range, reshape } from "@mp/core/ops";
import type { LayerContext } from "@mp/nn";
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
 * Wraps a model as a layer with the inputs and outputs of optimum's decoders: `input_ids`, `attention_mask` for past
 * and new tokens, `position_ids`, `past_key_values.0.key` … to `logits`, `present.0.key` …, for batches, texts and
 * pasts of any size.
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
      const mask = combineMask(ids, isToken);
      const present: Record<string, Tensor> = {};
      const afterPast = (name: string, own: Tensor): Tensor => {
        const whole = concat([past[`past_key_values.${name}`] as Tensor, own], 2);
        present[`present.${name}`] = whole;
        return whole;
      };
      const attend: Attend = (layer, { query, key, value }) =>
        attention(query, afterPast(`${layer}.key`, key), afterPast(`${layer}.value`, value), { mask });
      const input = { ids: cast(ids, "i32"), positions: cast(places, "i32"), attend };
      return { logits: model.apply(params, input, context), ...present };
    },
  };
}

/** The mask of new tokens, bool [batch, 1, time, past + time]: true for real tokens up to their own position. */
function combineMask(ids: Tensor, isToken: Tensor): Tensor {
  const time = ids.shape[1] as number;
  const [batch, whole] = isToken.shape as readonly [number, number];
  const columns = range(0, whole);
  const rows = reshape(range(whole - time, whole), [time, 1]);
  const seen = and(lessOrEqual(columns, rows), cast(reshape(isToken, [batch, 1, 1, whole]), "bool"));
  // Padding attends to itself: ONNX Runtime 1.23 gives NaN for what attends to nothing, and that spreads through 0 · NaN.
  return or(seen, equal(columns, rows));
}
