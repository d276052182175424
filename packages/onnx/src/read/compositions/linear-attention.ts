// ONNX's LinearAttention: a state of products of keys and values, which is written to and read in each step.
import type { Tensor } from "@mp/core";
import { add, cast, constant, exp, expand, matMul, mul, reshape, scan, sub, transpose } from "@mp/core/ops";
import { literals } from "../../literals.js";
import { quote } from "../../problem.js";
import type { ReadNode } from "../node/node-reader.js";
import { tracedAll } from "../node/traced.js";

const RULES = ["linear", "gated", "delta", "gated_delta"] as const;

/** [batch, time, heads · size] as steps: [time, batch, heads, size], in f32. */
function steps(x: Tensor, heads: number): Tensor {
  const [batch = 1, time = 1, width = 1] = x.shape;
  return transpose(reshape(cast(x, "f32"), [batch, time, heads, width / heads]), [1, 0, 2, 3]);
}

/** With an axis more, at the end or in front of it. */
const column = (x: Tensor): Tensor => reshape(x, [...x.shape, 1]);
const row = (x: Tensor): Tensor => reshape(x, [...x.shape.slice(0, -1), 1, x.shape.at(-1) ?? 1]);

/** Keys [batch, heads, size] times state [batch, heads, size, values]: [batch, heads, values]. */
const retrieved = (key: Tensor, state: Tensor): Tensor => {
  const product = matMul(row(key), state);
  return reshape(product, [...key.shape.slice(0, -1), product.shape.at(-1) ?? 1]);
};

/** The state of each head for all heads of queries that read it. */
function shared(state: Tensor, heads: number): Tensor {
  const [batch = 1, own = 1, ...matrix] = state.shape;
  if (own === heads) return state;
  const wide = expand(reshape(state, [batch, own, 1, ...matrix]), [batch, own, heads / own, ...matrix]);
  return reshape(wide, [batch, heads, ...matrix]);
}

export const linearAttention: ReadNode = (reader) => {
  const given = reader.string("update_rule", "gated_delta");
  const rule = RULES.find((known) => known === given);
  if (rule === undefined) return reader.unsupported(`updates by ${quote(given)}`);
  // A hint of how to compute it.
  reader.int("chunk_size", 0);
  const [query, key, value] = [reader.operand(0), reader.operand(1), reader.operand(2)];
  const [heads, own] = [reader.int("q_num_heads"), reader.int("kv_num_heads")];
  const sizes = [query, key, value].map(({ shape }, index) => (shape[2] ?? 0) / (index === 0 ? heads : own));
  const [size = 0, keySize = 0, valueSize = 0] = sizes;
  const [batch = 0, time = 0] = query.shape;
  const isDivided =
    heads > 0 && own > 0 && heads % own === 0 && sizes.every((each) => Number.isInteger(each));
  if (!isDivided || size !== keySize || query.shape.length !== 3 || time === 0)
    return reader.unsupported(
      `divides queries of [${query.shape}] and keys of [${key.shape}] into ${heads} and ${own} heads`,
    );
  const [past, decay, beta] = [reader.optional(3), reader.optional(4), reader.optional(5)];
  const [isGated, isDelta] = [rule.startsWith("gated"), rule.endsWith("delta")];
  if (isGated !== (decay !== undefined) || isDelta !== (beta !== undefined))
    return reader.unsupported(`updates by ${quote(rule)} with other operands than that takes`);
  const scale = reader.float("scale", 0) || 1 / Math.sqrt(size);
  const optional = [past, decay, beta].flatMap((each) => each ?? []);
  return tracedAll(
    reader,
    [query, key, value, ...optional],
    (q: Tensor, k: Tensor, v: Tensor, ...rest: readonly Tensor[]) => {
      const others = [...rest];
      const start = past === undefined ? undefined : others.shift();
      const decays = decay === undefined ? [] : [steps(others.shift() as Tensor, own)];
      const betas = beta === undefined ? [] : [steps(others.shift() as Tensor, beta.shape[2] ?? 1)];
      const zeros = () => expand(constant(literals([0], "f32", [])), [batch, own, size, valueSize]);
      const step = (
        state: Tensor,
        element: {
          readonly q: Tensor;
          readonly k: Tensor;
          readonly v: Tensor;
          readonly more: readonly Tensor[];
        },
      ): readonly [Tensor, Tensor] => {
        const more = [...element.more];
        const kept = isGated ? mul(state, column(exp(more.shift() as Tensor))) : state;
        const written = isDelta
          ? mul(more.shift() as Tensor, sub(element.v, retrieved(element.k, kept)))
          : element.v;
        const next = add(kept, mul(column(element.k), row(written)));
        return [next, mul(retrieved(element.q, shared(next, heads)), scale)];
      };
      const sequences = {
        q: steps(q, heads),
        k: steps(k, own),
        v: steps(v, own),
        more: [...decays, ...betas],
      };
      const [last, read] = scan(step, start === undefined ? zeros() : cast(start, "f32"), sequences);
      const y = reshape(transpose(read, [1, 0, 2, 3]), [batch, time, heads * valueSize]);
      return [cast(y, q.dtype), cast(last, start?.dtype ?? q.dtype)];
    },
  );
};
