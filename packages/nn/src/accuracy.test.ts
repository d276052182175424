import { autocast, mixedFloat16, type Tensor, tensor } from "@mp/core";
import { describe, expect, it } from "vitest";
import { numbers, run } from "../test/run-layer.js";
import { accuracy, topKAccuracy } from "./index.js";

const logits = tensor(
  Float32Array.of(...[3, 1, 2, 0], ...[0, 5, 1, 4], ...[1, 1, 0, 0], ...[9, 8, 7, 6]),
  [2, 2, 4],
);
const labels = tensor(Int32Array.of(0, 3, 1, 3), [2, 2]);
const measure = (metric: (x: Tensor, y: Tensor) => Tensor, y = labels): number | undefined =>
  numbers(run({ logits, y }, (t) => metric(t.logits, t.y)) as never)[0];

describe("accuracy", () => {
  it("is the share of labels that are the largest, the first of equals", () => {
    expect(measure(accuracy)).toBe(0.25);
    const other = tensor(Int32Array.of(0, 1, 0, 0), [2, 2]);
    expect(measure(accuracy, other)).toBe(1);
    expect(measure(autocast(accuracy, mixedFloat16().policy), other)).toBe(1);
  });

  it("takes labels that are i64, and refuses those of another shape", () => {
    const large = tensor(BigInt64Array.of(0n, 1n, 1n, 0n), [2, 2]);
    expect(measure(accuracy, large as never)).toBe(0.75);
    expect(() => measure(accuracy, tensor(new Int32Array(4)))).toThrow(
      "accuracy: logits [2, 2, 4] take labels [2, 2], got [4]; the order is (logits, labels)",
    );
    expect(() => run({ logits }, (t) => accuracy(t.logits, undefined as never))).toThrow(
      /accuracy: labels: takes traced tensors, got undefined/,
    );
  });
});

describe("topKAccuracy", () => {
  it("counts labels among the k largest, all of them for all classes", () => {
    const of = (k: number): number | undefined => measure((x, y) => topKAccuracy(x, y, k));
    expect([of(1), of(2), of(3), of(4)]).toEqual([0.25, 0.75, 0.75, 1]);
  });

  it("refuses a k that is no count of classes", () => {
    for (const k of [0, 5, 1.5]) {
      expect(() => measure((x, y) => topKAccuracy(x, y, k))).toThrow(
        `k must be an integer from 1 to 4, got ${k}`,
      );
    }
  });
});
