import { formatShape, sameShape } from "../../shape.js";
import type { Op } from "../attributes.js";
import type { OpOf } from "../families.js";
import type { ValueType } from "../graph.js";
import { expectDType, expectSameDType, expectShape, type InferTable, operands, shapeError } from "./rule.js";

const OPERANDS = ["query", "key", "value"] as const;

function expectMask(op: Op, mask: ValueType, { dtype }: ValueType, scores: readonly number[]): void {
  expectDType(op, mask, [...new Set(["bool", "f32", dtype] as const)], "mask");
  const fits =
    mask.shape.length >= 2 &&
    mask.shape.length <= 4 &&
    mask.shape.at(-1) === scores.at(-1) &&
    mask.shape.toReversed().every((size, position) => size === 1 || size === scores.at(-1 - position));
  if (fits) return;
  throw shapeError(
    op,
    `mask of ${formatShape(mask.shape)} needs 2 to 4 axes that broadcast to ${formatShape(scores)} ` +
      "[batch, heads, time, keys], the last of its full size",
  );
}

/** The result type of Attention; AttentionGradient compares the type of dy with it. */
function attended(
  op: Op,
  [query, key, value, mask]: readonly [ValueType, ValueType, ValueType, ValueType | undefined],
): ValueType {
  expectDType(op, query);
  expectSameDType(op, [query, key, value]);
  [query, key, value].forEach(({ shape }, index) => {
    if (shape.length === 4) return;
    throw shapeError(op, `${OPERANDS[index]} must be [batch, heads, time, size], got ${formatShape(shape)}`);
  });
  const [batch, heads, time, size] = query.shape as [number, number, number, number];
  const [, keyHeads, keys] = key.shape as [number, number, number];
  const wantedKey = [batch, keyHeads, keys, size];
  const wantedValue = [...wantedKey.slice(0, 3), value.shape[3] as number];
  if (!sameShape(key.shape, wantedKey) || !sameShape(value.shape, wantedValue)) {
    throw shapeError(
      op,
      `query ${formatShape(query.shape)}, key ${formatShape(key.shape)} and value ${formatShape(value.shape)} ` +
        "differ in batch, in the size of queries and keys, or in heads and positions of keys and values",
    );
  }
  if (keyHeads === 0 ? heads !== 0 : heads % keyHeads !== 0)
    throw shapeError(op, `${keyHeads} heads of keys do not divide ${heads} heads of queries`);
  if (mask !== undefined) expectMask(op, mask, query, [batch, heads, time, keys]);
  return { dtype: query.dtype, shape: [batch, heads, time, value.shape[3] as number] };
}

export const attentionInfer: InferTable<OpOf<"attention">> = {
  Attention: (inputs) => {
    const [query, key, value] = operands("Attention", inputs, 3, 4);
    return [attended("Attention", [query, key, value, inputs[3]])];
  },
  AttentionGradient: (inputs) => {
    const op = "AttentionGradient";
    const [dy, query, key, value] = operands(op, inputs, 4, 5);
    const y = attended(op, [query, key, value, inputs[4]]);
    expectSameDType(op, [dy, query]);
    expectShape(op, dy.shape, y.shape, "dy");
    return [query, key, value];
  },
};
