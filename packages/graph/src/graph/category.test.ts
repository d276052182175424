import { describe, expect, it } from "vitest";
import { isComputeFloat } from "../dtype.js";
import type { Op } from "./attributes.js";
import { opDTypes } from "./op-dtypes.js";
import { OPS, opTable } from "./op-table.js";

describe("the table of casting categories", () => {
  it("fixes an op in both halves or in neither, and every op that takes no float", () => {
    for (const op of OPS) {
      const { f16, bf16 } = opTable[op].cast;
      expect([op, f16 === "fixed"]).toEqual([op, bf16 === "fixed"]);
      if (!opDTypes[op].some(isComputeFloat)) expect([op, f16]).toEqual([op, "fixed"]);
    }
  });

  it("lowers matrix products, attention and convolutions only, and lets nothing contaminate in bf16", () => {
    for (const half of ["f16", "bf16"] as const) {
      expect(OPS.filter((op) => opTable[op].cast[half] === "low")).toEqual([
        "MatMul",
        "Gemm",
        "Einsum",
        "Attention",
        "Conv",
        "ConvTranspose",
        "AttentionGradient",
        "ConvWeightGradient",
      ]);
    }
    expect(OPS.filter((op) => opTable[op].cast.bf16 === "deny")).toEqual([]);
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
      expect(["f32", "deny"]).toContain(opTable[op].cast.f16);
      expect(opTable[op].cast.bf16).toBe("f32");
    }
  });

  it("says of ops that sum inside what holds without a backend: f32 in f16, low between products in bf16", () => {
    for (const { cast } of Object.values(opTable)) if (cast.bf16 === "between") expect(cast.f16).toBe("f32");
  });
});
