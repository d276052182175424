import { opDTypes } from "@mp/graph";
import { pairKey } from "@mp/graph/backend";
import { describe, expect, it } from "vitest";
import { kernelManifest } from "./kernel-manifest.js";

const nothing = {
  device: "cpu" as const,
  missing: new Map(),
  emulated: ["f16", "bf16"] as const,
  widened: new Set<string>(),
  narrowSums: [],
  nonFinite: undefined,
};

describe("what a manifest says of kernels", () => {
  it("says which operators add up in halves", () => {
    const narrow = (["MatMul", "Conv"] as const).map((op) => ({ op, dtype: "f16" as const }));
    const found = { ...nothing, emulated: ["bf16"] as const, narrowSums: narrow };
    expect(kernelManifest(found).accumulate).toEqual({
      default: { f32: "f32", f16: "f32", bf16: "f32" },
      ops: { MatMul: { f16: "f16" }, Conv: { f16: "f16" } },
    });
  });

  it("gives the reason for what the engine lacks", () => {
    const missing = new Map([
      ["Erf f32", "no such kernel"],
      ["TopK u64", "nor this"],
      ["Identity f8e4m3", "not even stored"],
    ]);
    const { ops, dtypes } = kernelManifest({ ...nothing, missing, emulated: ["bf16"] as const });
    // An emulated half is f32 to the engine; a native one is not.
    expect(ops.Erf).toEqual(["f16"]);
    expect(ops.TopK).toEqual(opDTypes.TopK.filter((dtype) => dtype !== "u64"));
    expect(dtypes.f8e4m3).toEqual({ unsupported: "not even stored" });
    expect(ops.Concat).not.toContain("f8e4m3");
    expect(dtypes.f16).toEqual({ storage: "f16", compute: "native" });
    const none = kernelManifest({ ...nothing, missing });
    const products = new Set([pairKey({ op: "MatMul", dtype: "f16" })]);
    const slow = kernelManifest({ ...nothing, emulated: ["bf16"] as const, widened: products });
    expect(slow.dtypes.f16).toEqual({ storage: "f16", compute: "emulated" });
    expect(none.ops.Erf).toEqual({ unsupported: "no such kernel" });
  });
});
