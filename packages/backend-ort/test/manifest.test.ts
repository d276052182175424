import { GraphBuilder, type HalfDType, MpError, type Op } from "@mp/core";
import { opDTypes } from "@mp/core/backend";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ort } from "../src/index.js";
import { ortManifest } from "../src/manifest.js";
import { openRuntime } from "../src/native/index.js";
import { probeEngine } from "../src/probe/findings.js";
import { probeGraph } from "../src/probe/probe-graph.js";
import { nativeHalves } from "../src/probe/probe-halves.js";
import { probeKernels } from "../src/probe/probe-kernels.js";
import type { Target } from "../src/target.js";

let runtime: Awaited<ReturnType<typeof openRuntime>>;
beforeAll(async () => {
  runtime = await openRuntime();
});
afterAll(() => runtime.dispose());

const engine = { name: "onnxruntime", version: "test" };

const emulating = (...emulated: readonly HalfDType[]): Target => ({
  device: "cpu",
  emulated,
  blockSize: undefined,
});

describe("what the engine is found to do", () => {
  it("is everything, with this release's processor kernels and halves emulated", async () => {
    const { missing, nativeHalves: native, blockSize: block } = await probeEngine(runtime);
    expect(native).toEqual([]);
    // By the width of the processor's vectors.
    expect([8, 16]).toContain(block);
    expect(missing).toEqual(new Map());
    const { ops, dtypes } = ortManifest(engine, "cpu", { missing, nativeHalves: native });
    expect(ops).toEqual(opDTypes);
    expect(dtypes.f16).toEqual({ storage: "f32", compute: "emulated" });
    expect(dtypes.f8e5m2).toEqual({ storage: "f8e5m2", compute: "native" });
  });

  it("covers every op in every dtype it exists in", () => {
    for (const [op, dtypes] of Object.entries(opDTypes) as [Op, (typeof opDTypes)[Op]][]) {
      for (const dtype of dtypes) {
        const { nodes } = probeGraph([{ op, dtype }]);
        expect(nodes.filter((node) => node.op === op).length, `${op} in ${dtype}`).toBeGreaterThan(0);
      }
    }
  });

  it("leaves nothing behind", async () => {
    const before = runtime.stats();
    await nativeHalves(runtime);
    await probeKernels(runtime, emulating("f16", "bf16"));
    expect(runtime.stats()).toEqual(before);
  });

  it("is asked once a process", () => {
    expect(probeEngine(runtime)).toBe(probeEngine(runtime));
  });
});

describe("what the engine lacks", () => {
  it("is found, told apart from what it has, and said in its own words", async () => {
    // bf16 as the engine's own kernels have it on a processor: it moves it, and computes little in it.
    const missing = await probeKernels(runtime, emulating("f16"));
    expect(missing.get("Add")?.get("bf16")).toMatch(/implementation|Add/);
    expect(missing.get("MatMul")?.has("bf16")).toBe(true);
    expect(missing.get("Identity")?.has("bf16") ?? false).toBe(false);
    expect(missing.get("Reshape")?.has("bf16") ?? false).toBe(false);
    expect([...missing.values()].flatMap((reasons) => [...reasons.keys()])).not.toContain("f32");
  });

  it("is unsupported in the manifest, for that reason", () => {
    const missing = new Map([
      ["Erf", new Map([["f32", "no such kernel"]])],
      ["TopK", new Map([["u64", "nor this"]])],
      ["Identity", new Map([["f8e4m3", "not even stored"]])],
    ]) as unknown as Parameters<typeof ortManifest>[2]["missing"];
    const { ops, dtypes } = ortManifest(engine, "cpu", { missing, nativeHalves: ["f16"] });
    // An emulated half is f32 to the engine, a native one is its own.
    expect(ops.Erf).toEqual(["f16"]);
    expect(ops.TopK).toEqual(opDTypes.TopK.filter((dtype) => dtype !== "u64"));
    expect(dtypes.f8e4m3).toEqual({ unsupported: "not even stored" });
    expect(ops.Concat).not.toContain("f8e4m3");
    expect(dtypes.f16).toEqual({ storage: "f16", compute: "native" });
    const none = ortManifest(engine, "cpu", { missing, nativeHalves: [] });
    expect(none.ops.Erf).toEqual({ unsupported: "no such kernel" });
  });

  it("is refused before anything is loaded", async () => {
    const backend = await ort();
    const builder = new GraphBuilder();
    const x = builder.input("x", { dtype: "f32", shape: [2] }, "batch");
    const graph = builder.finish({ y: builder.emitOne("Erf", [x], {}) });
    const lacking = {
      ...backend.manifest,
      ops: { ...backend.manifest.ops, Erf: { unsupported: "no such kernel" } },
    };
    Object.defineProperty(backend, "manifest", { value: lacking });
    const refusal = await backend.compile(graph).catch((error: unknown) => error);
    expect(MpError.is(refusal, "MP_UNSUPPORTED")).toBe(true);
    expect(String(refusal)).toContain("no such kernel");
    await backend.dispose();
  });
});
