import { describe, expect, it } from "vitest";
import { castCategories } from "../cast/op-categories.js";
import { isComputeFloat } from "../dtype.js";
import type { Op } from "./attributes.js";
import { summingOps } from "./category.js";
import { opDTypes } from "./op-dtypes.js";

const ops = Object.keys(castCategories) as Op[];

describe("the table of casting categories", () => {
  it("fixes an op in both halves or in neither, and every op that takes no float", () => {
    for (const op of ops) {
      const { f16, bf16 } = castCategories[op];
      expect([op, f16 === "fixed"]).toEqual([op, bf16 === "fixed"]);
      if (!opDTypes[op].some(isComputeFloat)) expect([op, f16]).toEqual([op, "fixed"]);
    }
  });

  it("lowers matrix products, attention and convolutions only, and lets nothing contaminate in bf16", () => {
    for (const half of ["f16", "bf16"] as const) {
      expect(ops.filter((op) => castCategories[op][half] === "low")).toEqual([
        "MatMul",
        "Gemm",
        "Einsum",
        "Attention",
        "Conv",
        "ConvTranspose",
        "ConvWeightGradient",
      ]);
    }
    expect(ops.filter((op) => castCategories[op].bf16 === "deny")).toEqual([]);
  });

  it("keeps sums, logarithms and losses out of both halves", () => {
    const wide: readonly Op[] = [
      "ReduceSum",
      "ReduceMean",
      "ReduceL2",
      "ReduceLogSumExp",
      "CumSum",
      "Log",
      "LogSoftmax",
      "SoftmaxCrossEntropyLoss",
      "NegativeLogLikelihoodLoss",
    ];
    for (const op of wide) {
      expect(["f32", "deny"]).toContain(castCategories[op].f16);
      expect(castCategories[op].bf16).toBe("f32");
    }
  });

  it("says of ops that sum inside what holds without a backend: f32 in f16, low between products in bf16", () => {
    for (const op of summingOps) expect(castCategories[op]).toEqual({ f16: "f32", bf16: "between" });
  });
});
