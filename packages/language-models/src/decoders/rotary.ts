/**
 * Rotary positions (Su et al., arXiv 2104.09864) in Hugging Face's layout: each element of the first half of
 * a head and its counterpart in the second half form a pair, which is rotated.
 */

import { autocast, float32, type HostTensor, MpError, type Tensor, tensor } from "@mp/core";
import { add, cast, concat, constant, cos, mul, reshape, sin, split, sub } from "@mp/core/ops";
import { checks, shown } from "@mp/graph/internal";
import {
  type FieldTable,
  type FieldValues,
  invalid,
  optional,
  positive,
  readFields,
  required,
} from "@mp/nn/internal";

/** The fields of config.json that determine the angles; `rope_scaling` is older than transformers 5. */
export interface RotaryConfig {
  readonly head_dim: number;
  readonly max_position_embeddings: number;
  readonly original_max_position_embeddings?: number;
  readonly rope_theta?: number;
  readonly rope_parameters?: FieldValues;
  readonly rope_scaling?: FieldValues;
}

const DEFAULT_THETA = 10_000;

/** Fields of all types. Before transformers 5, `rope_theta` is outside; the oldest files call `rope_type` `type`. */
const COMMON: FieldTable = {
  rope_type: optional(checks.text),
  type: optional(checks.text),
  rope_theta: optional(positive),
  partial_rotary_factor: { only: [1], because: "all of a head is rotated" },
};

const SCALED: FieldTable = { ...COMMON, factor: required(positive) };

/** The fields that any type of scaling may have. */
interface ScalingFields extends Readonly<Record<"factor" | "low_freq_factor" | "high_freq_factor", number>> {
  readonly rope_theta?: number;
  readonly original_max_position_embeddings?: number;
}

/** Returns the scaled frequencies for the unscaled ones. */
type Scale = (plain: readonly number[], given: ScalingFields, config: RotaryConfig) => readonly number[];

/**
 * Llama 3.1: divides by `factor` the frequencies that complete at most `low_freq_factor` turns within the
 * original context, keeps those that complete `high_freq_factor` or more, and interpolates between.
 */
const scaleLongWaves: Scale = (plain, given, config) => {
  const { factor, low_freq_factor: low, high_freq_factor: high } = given;
  if (high <= low)
    throw invalid(`causalLm: high_freq_factor must be above low_freq_factor, ${low}, got ${high}`);
  const length =
    config.original_max_position_embeddings ??
    given.original_max_position_embeddings ??
    config.max_position_embeddings;
  return plain.map((each) => {
    const turns = (length * each) / (2 * Math.PI);
    const share = Math.min(1, Math.max(0, (turns - low) / (high - low)));
    return (1 - share) * (each / factor) + share * each;
  });
};

const BY_TYPE: Readonly<Record<string, { readonly fields: FieldTable; readonly scale: Scale }>> = {
  // Without scaling, `factor` has no effect; transformers may leave it from an earlier scaling.
  default: { fields: { ...COMMON, factor: "unused" }, scale: (plain) => plain },
  linear: { fields: SCALED, scale: (plain, { factor }) => plain.map((each) => each / factor) },
  llama3: {
    fields: {
      ...SCALED,
      low_freq_factor: required(positive),
      high_freq_factor: required(positive),
      original_max_position_embeddings: optional(positive),
    },
    scale: scaleLongWaves,
  },
};

/** Radians per position, for each pair of a head. @throws MP_UNSUPPORTED for an unknown type of scaling */
export function inverseFrequencies(config: RotaryConfig, ignored: readonly string[]): HostTensor<"f32"> {
  const { head_dim: headSize, rope_theta: theta = DEFAULT_THETA } = config;
  const scaling = config.rope_scaling ?? config.rope_parameters ?? {};
  const kind = scaling["rope_type"] ?? scaling["type"] ?? "default";
  const found = typeof kind === "string" && Object.hasOwn(BY_TYPE, kind) ? BY_TYPE[kind] : undefined;
  if (found === undefined)
    throw new MpError(
      "MP_UNSUPPORTED",
      `causalLm: rope_type must be one of ${Object.keys(BY_TYPE).join(", ")}, got ${shown(kind)}`,
    );
  const given = readFields(
    `causalLm: rope_parameters of type ${kind}`,
    scaling,
    found.fields,
    ignored,
  ) as unknown as ScalingFields;
  const { rope_theta: base = theta } = given;
  const plain = Array.from({ length: headSize / 2 }, (_, pair) => base ** ((-2 * pair) / headSize));
  return tensor(Float32Array.from(found.scale(plain, given, config)), [headSize / 2]);
}

/** Cosines and sines of the angles, f32 [batch, 1, time, size / 2]. */
export type Angles = Readonly<Record<"cosine" | "sine", Tensor>>;

/** The angles at positions i32 [batch, time], in f32 under any policy: f16 has no odd integer above 2048. */
export function anglesAt(positions: Tensor, frequencies: HostTensor<"f32">): Angles {
  const [batch = 0, time = 0] = positions.shape;
  const anglesOf = (places: Tensor): Angles => {
    const angles = mul(reshape(cast(places, "f32"), [batch, 1, time, 1]), constant(frequencies));
    return { cosine: cos(angles), sine: sin(angles) };
  };
  return autocast(anglesOf, float32().policy)(positions);
}

/** Rotates each pair of elements of heads [batch, heads, time, size] by the angle of its position. */
export function rotate(heads: Tensor, { cosine, sine }: Angles): Tensor {
  const [first, second] = split(heads, 2, -1) as [Tensor, Tensor];
  return concat([sub(mul(first, cosine), mul(second, sine)), add(mul(second, cosine), mul(first, sine))], -1);
}
