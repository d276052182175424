import { describe, expect, it } from "vitest";
import type { DType } from "../dtype.js";
import type { OpAttributes } from "./attributes.js";
import type { ValueType } from "./graph.js";
import { inferTypes } from "./infer/infer.js";

const type = (dtype: DType, ...shape: number[]): ValueType => ({ dtype, shape });
const plain: OpAttributes["Attention"] = { scale: 1, isCausal: false, softcap: 0 };
const infer = (inputs: readonly ValueType[], attributes: Partial<typeof plain> = {}) =>
  inferTypes("Attention", inputs, { ...plain, ...attributes });

const Q = type("f16", 2, 6, 3, 4);
const K = type("f16", 2, 2, 5, 4);
const V = type("f16", 2, 2, 5, 7);

describe("the types of attention", () => {
  it("are the queries' with the size of the values", () => {
    expect(infer([Q, K, V])).toEqual([type("f16", 2, 6, 3, 7)]);
    for (const mask of [type("bool", 3, 5), type("f32", 1, 1, 5), type("f16", 2, 6, 1, 5)])
      expect(infer([Q, K, V, mask])).toEqual([type("f16", 2, 6, 3, 7)]);
  });

  it.each([
    [[Q, K], "takes 3 to 4 operands, got 2"],
    [[type("f16", 6, 3, 4), K, V], "query must be [batch, heads, time, size], got [6, 3, 4]"],
    [[Q, type("f16", 2, 2, 5, 3), V], "query [2, 6, 3, 4], key [2, 2, 5, 3] and value [2, 2, 5, 7] differ"],
    [[Q, K, type("f16", 2, 2, 4, 7)], "differ in batch"],
    [
      [Q, type("f16", 2, 4, 5, 4), type("f16", 2, 4, 5, 4)],
      "4 heads of keys do not divide 6 heads of queries",
    ],
    [[Q, K, type("f32", 2, 2, 5, 7)], "operands are f16 and f32"],
    [[Q, K, V, type("bf16", 3, 5)], "mask is bf16, takes bool, f32, f16"],
    [[Q, K, V, type("i32", 3, 5)], "mask is i32"],
    [[Q, K, V, type("bool", 5)], "mask of [5] needs 2 to 4 axes that broadcast to [2, 6, 3, 5]"],
    [[Q, K, V, type("bool", 3, 1)], "the last of its full size"],
    [[Q, K, V, type("bool", 2, 3, 5)], "mask of [2, 3, 5] needs"],
    [[Q, K, V, type("bool", 1, 2, 6, 3, 5)], "mask of [1, 2, 6, 3, 5] needs"],
  ])("are refused otherwise: %#", (inputs, message) => {
    expect(() => infer(inputs)).toThrow(message);
  });

  it("take a scale above 0 and a softcap of 0 or more", () => {
    expect(() => infer([Q, K, V], { scale: 0 })).toThrow(
      "scale must be a number above 0 that is finite in f32, got 0",
    );
    expect(() => infer([Q, K, V], { softcap: -1 })).toThrow(
      "softcap must be 0, for none, or a number above 0",
    );
    expect(() => infer([Q, K, V], { isCausal: 1 as unknown as boolean })).toThrow(
      "isCausal must be true or false",
    );
  });
});
