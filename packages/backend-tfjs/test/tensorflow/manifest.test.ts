import { DTYPES, isEighth, OPS, opDTypes, opTable } from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import * as probes from "@mp/graph/probe";
import { describe, expect, it } from "vitest";
import { tfjs } from "../../src/index.js";
import { expectTensorFlow } from "../../src/load/index.js";
import { tfjsManifest } from "../../src/manifest.js";
import { probeGraph } from "../../src/probe/probe-graph.js";
import { missingKernels } from "../../src/probe/probe-kernels.js";
import { processorFlags } from "../../src/probe/read-processor-flags.js";
import { withTensorFlow } from "./installed-tensorflow.js";

const engine = { name: "tensorflow", version: "test" };
const subnormals = { f32: "preserve", f16: "preserve", bf16: "preserve" } as const;

describe("the manifest", () => {
  it("calls a dtype that cannot be carried unsupported, with the engine's words", () => {
    const missing = new Map([["Identity bool", "no such kernel"]]);
    const { dtypes, ops } = tfjsManifest(engine, "cuda", {
      missing,
      widened: new Set(),
      columnSums: new Set(),
      subnormals,
      nonFinite: undefined,
    });
    expect(dtypes.bool).toEqual({ unsupported: "no such kernel" });
    expect(ops.Not).toEqual({ unsupported: "none of its dtypes is stored" });
  });

  it("calls a half whose matrix products are widened emulated, in its own storage", () => {
    const widened = new Set(["MatMul f16"]);
    const { dtypes } = tfjsManifest(engine, "cpu", {
      missing: new Map(),
      widened,
      columnSums: new Set(),
      subnormals,
      nonFinite: undefined,
    });
    expect(dtypes.f16).toEqual({ storage: "f16", compute: "emulated" });
    expect(dtypes.bf16).toEqual({ storage: "bf16", compute: "native" });
  });

  it("is asked about every op in every dtype it exists in", () => {
    for (const [op, dtypes] of Object.entries(opDTypes)) {
      for (const dtype of dtypes) {
        const { graph } = probeGraph([{ op: op as keyof typeof opDTypes, dtype }]);
        const isSource = op === "Constant";
        expect(graph.nodes.some((node) => node.op === op) || isSource, `${op} in ${dtype}`).toBe(true);
      }
    }
  });
});

await withTensorFlow((tf) => {
  describe("this TensorFlow", () => {
    it("does everything but 8-bit floats", async () => {
      const { manifest } = await tfjs({ tf });
      for (const op of OPS.filter((one) => opTable[one].parts === undefined))
        expect(manifest.ops[op]).toEqual(opDTypes[op].filter((dtype) => !isEighth(dtype)));
      expect(DTYPES.filter((dtype) => unsupportedReason(manifest.dtypes[dtype]) !== undefined)).toEqual([
        "f8e4m3",
        "f8e5m2",
      ]);
      const units = probes.halfUnits(manifest.device === "cuda" ? "cuda" : "cpu", processorFlags());
      for (const half of ["f16", "bf16"] as const)
        expect(manifest.dtypes[half]).toEqual({
          storage: half,
          compute: units.includes(half) ? "native" : "emulated",
        });
      expect(manifest.subnormals.f16).toBe("preserve");
      expect(manifest.nonFiniteConvolution).toEqual({
        unsupported: expect.stringMatching(/^Conv.* by IEEE 754 /),
      });
      expect(manifest.eventLoop).toBe("blocked-during-step");
    });

    it("is asked in one go, and where that fails until the pair is found that it refuses", async () => {
      const { binding } = expectTensorFlow(tf);
      const pairs = (["f32", "f8e4m3", "i64", "bool"] as const).map(
        (dtype) => ({ op: "Transpose", dtype }) as const,
      );
      const missing = await missingKernels(binding, pairs, false);
      expect([...missing.keys()]).toEqual(["Transpose f8e4m3"]);
      expect(missing.get("Transpose f8e4m3")).toMatch(/float8/);
    });
  });
});
