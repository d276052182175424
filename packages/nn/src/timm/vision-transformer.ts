import { scope, type Tensor } from "@mp/core";
import {
  add,
  attention,
  concat,
  expand,
  gelu,
  mul,
  reduceMean,
  reshape,
  slice,
  split,
  transpose,
} from "@mp/core/ops";
import { checks } from "@mp/graph/internal";
import { dropout } from "../dropout.js";
import { invalid, mismatch } from "../errors.js";
import { type FieldTable, type FieldValues, neutral, optional } from "../fields/config-fields.js";
import { extent, isInteger, positive, rate } from "../fields/field-checks.js";
import { constantValue, normal, truncatedNormal } from "../initializers.js";
import { inTurn, namedParts, type Part, spec, stateless } from "./part.js";
import { conv2d, layerNorm1d, linear, torchUniform } from "./torch-layers.js";

/** A size for both axes, or [height, width]. */
const sides: checks.Check = checks.claim("an integer, or [height, width]", (value) => {
  const both: readonly unknown[] = Array.isArray(value) ? value : [value, value];
  return both.length === 2 && both.every((one) => isInteger(one, 2 ** 22));
});

/** The arguments of timm's VisionTransformer, with its defaults, for a name with these sizes. */
export const vitArgs = (size: number, heads: number, side: number): FieldTable => ({
  img_size: optional(sides, side),
  patch_size: optional(extent, 16),
  in_chans: optional(extent, 3),
  num_classes: optional(checks.integer(0, 2 ** 22), 1000),
  global_pool: optional(checks.oneOf("token", "avg"), "token"),
  embed_dim: optional(extent, size),
  depth: optional(checks.integer(1, 4096), 12),
  num_heads: optional(extent, heads),
  mlp_ratio: optional(positive, 4),
  qkv_bias: optional(checks.truth, true),
  init_values: optional(positive),
  drop_rate: optional(rate, 0),
  ...neutral("tokens, positions and blocks are those of vit_tiny to vit_base", {
    ...{
      class_token: true,
      no_embed_class: false,
      pos_embed: "learn",
      reg_tokens: 0,
      pool_include_prefix: false,
    },
    ...{ pre_norm: false, final_norm: true, qk_norm: false, proj_bias: true },
    ...{ scale_attn_norm: false, scale_mlp_norm: false, act_layer: "gelu", norm_layer: "layernorm" },
  }),
  ...neutral("all images have one size", { dynamic_img_size: false, dynamic_img_pad: false }),
  ...neutral("only drop_rate drops, before the last layer", {
    ...{ pos_drop_rate: 0, patch_drop_rate: 0, proj_drop_rate: 0, attn_drop_rate: 0, drop_path_rate: 0 },
  }),
  ...neutral("new weights are drawn as by default", { weight_init: "", fix_init: false }),
});

interface Args
  extends Readonly<
    Record<"patch_size" | "in_chans" | "num_classes" | "embed_dim" | "depth" | "num_heads", number>
  > {
  readonly img_size: number | readonly [height: number, width: number];
  readonly global_pool: "token" | "avg";
  readonly mlp_ratio: number;
  readonly qkv_bias: boolean;
  readonly init_values?: number;
  readonly drop_rate: number;
}

const EPSILON = 1e-6;
const weight = truncatedNormal(0.02);

/**
 * The vision transformer (Dosovitskiy et al., arXiv 2010.11929) with timm's names: [batch, in_chans, img_size,
 * img_size] to logits, or to the pooled features if `num_classes` is 0.
 * @throws MP_INVALID_ARGUMENT for sizes that do not divide each other
 */
export function visionTransformer(given: FieldValues): Part {
  const args = given as unknown as Args;
  const { img_size: whole, patch_size: patch, embed_dim: size, num_heads: heads } = args;
  const [height, width] = typeof whole === "number" ? [whole, whole] : whole;
  if (height % patch !== 0 || width % patch !== 0)
    throw invalid(`timmModel: patch_size must divide img_size, got ${patch} and [${height}, ${width}]`);
  if (size % heads !== 0)
    throw invalid(`timmModel: num_heads must divide embed_dim, got ${heads} and ${size}`);
  const isToken = args.global_pool === "token";
  const norm = isToken ? "norm" : "fc_norm";
  const projection = conv2d(args.in_chans, size, patch, {
    stride: patch,
    weight: torchUniform,
    bias: torchUniform,
  });
  const patches = (height / patch) * (width / patch);
  const parts = {
    patch_embed: namedParts({ proj: projection }, (run, x) => {
      const [batch = 0] = x.shape;
      return transpose(reshape(run("proj", x), [batch, size, patches]), [0, 2, 1]);
    }),
    cls_token: stateless(spec([1, 1, size], normal(1e-6)), (token, x) =>
      concat([expand(token, [x.shape[0] ?? 0, 1, size]), x], 1),
    ),
    pos_embed: stateless(spec([1, patches + 1, size], weight), (positions, x) => add(x, positions)),
    blocks: inTurn(Array.from({ length: args.depth }, () => block(size, heads, args))),
    [norm]: layerNorm1d(size, EPSILON),
    ...(args.num_classes > 0 ? { head: linear(size, args.num_classes, { weight }) } : {}),
  };
  return namedParts(parts, (run, x, context) => {
    const [batch = 0] = x.shape;
    if (x.shape[2] !== height || x.shape[3] !== width)
      throw mismatch(
        `timmModel: images must have the img_size [${height}, ${width}], got [${x.shape.join(", ")}]; scale them`,
      );
    const names = ["patch_embed", "cls_token", "pos_embed", "blocks"];
    const tokens = names.reduce((y, name) => run(name, y), x);
    const pooled = isToken
      ? reshape(slice(tokens, [{ axis: 1, end: 1 }]), [batch, size])
      : reduceMean(slice(tokens, [{ axis: 1, start: 1 }]), { axes: [1] });
    const normed = run(norm, pooled);
    const kept = scope("head_drop", () => dropout(args.drop_rate).apply({}, normed, context));
    return "head" in parts ? run("head", kept) : kept;
  });
}

const layerScale = (size: number, start: number): Part =>
  stateless({ gamma: spec([size], constantValue(start)) }, ({ gamma }, x) => mul(x, gamma));

/** x + attention(norm1(x)), and then y + mlp(norm2(y)), each scaled by `gamma` if there are `init_values`. */
function block(size: number, heads: number, { mlp_ratio: ratio, qkv_bias, init_values: gamma }: Args): Part {
  const hidden = Math.floor(size * ratio);
  const mlp = { fc1: linear(size, hidden, { weight }), fc2: linear(hidden, size, { weight }) };
  const scales =
    gamma === undefined ? [] : ["ls1", "ls2"].map((name) => [name, layerScale(size, gamma)] as const);
  const parts = {
    norm1: layerNorm1d(size, EPSILON),
    attn: selfAttention(size, heads, qkv_bias),
    norm2: layerNorm1d(size, EPSILON),
    mlp: namedParts(mlp, (run, x) => run("fc2", gelu(run("fc1", x), { approximate: "none" }))),
    ...Object.fromEntries(scales),
  };
  return namedParts(parts, (run, x) => {
    const scale = (name: string, y: Tensor): Tensor => (name in parts ? run(name, y) : y);
    const middle = add(x, scale("ls1", run("attn", run("norm1", x))));
    return add(middle, scale("ls2", run("mlp", run("norm2", middle))));
  });
}

function selfAttention(size: number, heads: number, hasBias: boolean): Part {
  const parts = {
    qkv: linear(size, 3 * size, { weight, ...(hasBias ? {} : { bias: false }) }),
    proj: linear(size, size, { weight }),
  };
  return namedParts(parts, (run, x) => {
    const [batch = 0, time = 0] = x.shape;
    const [query, key, value] = split(run("qkv", x), 3, -1).map((y) =>
      transpose(reshape(y, [batch, time, heads, size / heads]), [0, 2, 1, 3]),
    ) as [Tensor, Tensor, Tensor];
    const mixed = transpose(attention(query, key, value), [0, 2, 1, 3]);
    return run("proj", reshape(mixed, [batch, time, size]));
  });
}
