/**
 * Attention and its gradient by cuDNN's flash attention, in calls that XLA's CUDA compiler knows. Names,
 * operands and configuration are those that JAX writes (jax/_src/cudnn/fused_attention_stablehlo.py of
 * 0.8.1).
 */
import { type AnyNode, isHalf, isNode, type OpAttributes, type OpOf, type ValueType } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { dtypeOf, type Operand, range, shapeOf } from "../stablehlo/operand.js";
import { namesText, typesText, typeText } from "../stablehlo/tensor-type.js";
import { type Lowering, type LoweringTable, resultType } from "./lowering.js";

type Attending = OpAttributes["Attention"];

/** The largest head size that cuDNN accepts on every GPU that has the kernels. */
const LARGEST_HEAD = 128;

/** Whether cuDNN has a kernel for an attention node: operands of a half dtype, equal head sizes, only a causal mask. */
export function isFlash(node: AnyNode): boolean {
  const isGradient = isNode(node, "AttentionGradient");
  if (!isGradient && !isNode(node, "Attention")) return false;
  const operands: readonly ValueType[] = isGradient ? node.inputs.slice(1) : node.inputs;
  const [size = 0, valueSize] = [operands[0]?.shape[3], operands[2]?.shape[3]];
  return (
    operands.length === 3 &&
    operands.every(({ dtype, shape }) => isHalf(dtype) && !shape.includes(0)) &&
    node.attributes.softcap === 0 &&
    size === valueSize &&
    size % 8 === 0 &&
    size <= LARGEST_HEAD
  );
}

/** Axes of each product of tensors [batch, time, heads, size]: left summed axis, right summed axis, left heads axis. */
const PRODUCTS = {
  forward: { bmm1: [3, 3, 2], bmm2: [3, 1, 1] },
  backward: {
    bmm1_grad_gemm1: [2, 1, 1],
    bmm1_grad_gemm2: [3, 1, 1],
    bmm2_grad_gemm1: [2, 1, 1],
    bmm2_grad_gemm2: [3, 3, 2],
  },
} as const;

function configText(
  pass: keyof typeof PRODUCTS,
  { scale, isCausal }: Attending,
  query: Operand,
  scores: readonly number[],
): string {
  const products = Object.entries<readonly [number, number, number]>(PRODUCTS[pass]).map(
    ([name, [left, right, heads]]) => [
      `${name}_dot_dimension_numbers`,
      {
        lhs_contracting_dimensions: [`${left}`],
        rhs_contracting_dimensions: [`${right}`],
        lhs_batch_dimensions: ["0", `${heads}`],
        rhs_batch_dimensions: ["0", "2"],
      },
    ],
  );
  const config = {
    algorithm: {
      algo_id: "0",
      math_type: "TENSOR_OP_MATH",
      tuning_knobs: { 17: "1", 24: "0" },
      is_cudnn_frontend: true,
      workspace_size: "0",
    },
    fmha_scale: scale,
    intermediate_tensor_shape: {
      element_type: dtypeOf(query).toUpperCase(),
      dimensions: scores.map(String),
      layout: { minor_to_major: ["3", "2", "1", "0"] },
      is_dynamic_dimension: scores.map(() => false),
    },
    is_flash_attention: true,
    mask_type: isCausal ? "CAUSAL" : "NO_MASK",
    max_seg_per_batch: 1,
    ...Object.fromEntries(products),
  };
  return JSON.stringify(JSON.stringify({ cudnn_fmha_backend_config: config }));
}

/** Transposes to [batch, time, heads, size]. Layers compute heads in this order, so no data moves. */
const inTime = (emitter: Emitter, x: Operand): Operand => emitter.transpose(x, [0, 2, 1, 3]);
const MEMORY_IN_TIME = [3, 1, 2, 0];

const layoutText = (axes: readonly number[]): string =>
  `dense<[${axes.join(", ")}]> : tensor<${axes.length}xindex>`;

/** Emits the call to cuDNN. @param operands query and key first, time before heads @param types of results */
function emitCall(
  emitter: Emitter,
  pass: keyof typeof PRODUCTS,
  attributes: Attending,
  operands: readonly [query: Operand, key: Operand, ...others: Operand[]],
  types: readonly ValueType[],
): readonly Operand[] {
  const [query, key] = operands;
  const [batch = 0, time = 0, heads = 0] = shapeOf(query);
  const config = configText(pass, attributes, query, [batch, heads, time, shapeOf(key)[1] ?? 0]);
  // The last result is memory that cuDNN works in; the compiler finds its size.
  const all: readonly ValueType[] = [...types, { dtype: "u8", shape: [0] }];
  const given = operands.map(({ type }) => layoutText(range(type.shape.length).toReversed()));
  const made = all.map(({ shape: { length } }) =>
    layoutText(length === 4 ? MEMORY_IN_TIME : range(length).toReversed()),
  );
  const target = pass === "forward" ? "__cudnn$fmhaSoftmax" : "__cudnn$fmhaSoftmaxBackward";
  return emitter.emitMany(
    `stablehlo.custom_call @${target}(${namesText(operands)}) {api_version = 2 : i32, backend_config = ${config}, operand_layouts = [${given.join(", ")}], result_layouts = [${made.join(", ")}]} : (${typesText(operands)}) -> (${all.map(typeText).join(", ")})`,
    all,
  );
}

/** A forward call for a query, key and value, with its result and the statistics of the softmax in f32. */
interface Forward {
  readonly key: Operand;
  readonly value: Operand;
  readonly attributes: Attending;
  readonly results: readonly [y: Operand, statistics: Operand];
}

/** Forward calls emitted so far, by query. A gradient reuses the results of its forward call. */
const forwards = new WeakMap<Operand, readonly Forward[]>();

function forward(
  emitter: Emitter,
  attributes: Attending,
  [query, key, value]: readonly [Operand, Operand, Operand],
): Forward["results"] {
  const before = forwards.get(query) ?? [];
  const known = before.find(
    (other) =>
      other.key === key &&
      other.value === value &&
      other.attributes.scale === attributes.scale &&
      other.attributes.isCausal === attributes.isCausal,
  );
  if (known !== undefined) return known.results;
  const { dtype, shape } = query.type;
  const operands = [inTime(emitter, query), inTime(emitter, key), inTime(emitter, value)] as const;
  const types: readonly ValueType[] = [
    { dtype, shape },
    { dtype: "f32", shape: shape.slice(0, 3) },
  ];
  const results = emitCall(emitter, "forward", attributes, operands, types) as unknown as Forward["results"];
  forwards.set(query, [...before, { key, value, attributes, results }]);
  return results;
}

const backward: Lowering<"AttentionGradient"> = (emitter, node, [dy, query, key, value]) => {
  const [y, statistics] = forward(emitter, node.attributes, [query, key, value]);
  const [q, k, v, g, out] = [query, key, value, dy, y].map((x) => inTime(emitter, x)) as [
    Operand,
    Operand,
    Operand,
    Operand,
    Operand,
  ];
  const types = [0, 1, 2].map((index) => resultType(node, index));
  return emitCall(emitter, "backward", node.attributes, [q, k, v, statistics, g, out], types).slice(0, 3);
};

/** Lowers attention nodes for which cuDNN has a kernel; `expandComposites` replaces the others. */
export const attentionLowerings: LoweringTable<OpOf<"attention">> = {
  Attention: (emitter, node, [query, key, value]) => {
    const [y] = forward(emitter, node.attributes, [query, key, value]);
    return [y];
  },
  AttentionGradient: backward,
};
