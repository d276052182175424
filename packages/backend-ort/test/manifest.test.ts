import { GraphBuilder, type HalfDType, type HostTensor, MpError, opDTypes } from "@mp/graph";
import { pairKey } from "@mp/graph/backend";
import * as probes from "@mp/graph/probe";
import type { Target } from "@mp/onnx-lowering";
import { narrowSums, nativeHalves, pairsFor, probeKernels, runGraph } from "@mp/onnx-lowering/probe";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ort } from "../src/index.js";
import { ortManifest } from "../src/manifest.js";
import { openRuntime } from "../src/native/index.js";
import { engineToProbe } from "../src/probe/engine-to-probe.js";
import { probeOnce } from "../src/probe/probe-once.js";

let runtime: Awaited<ReturnType<typeof openRuntime>>;
beforeAll(async () => {
  runtime = await openRuntime();
});
afterAll(() => runtime.dispose());

const engine = { name: "onnxruntime", version: "test" };

const emulating = (...emulated: readonly HalfDType[]): Target => ({
  device: "cpu",
  emulated,
  widened: new Set(),
  blockSize: undefined,
  castsThroughDoubles: false,
});

describe("what the engine is found to do", () => {
  it("is everything, with this release's processor kernels and halves emulated", async () => {
    const found = await probeOnce(runtime);
    const { missing, emulated, blockSize: block } = found;
    expect(emulated).toEqual(["f16", "bf16"]);
    // Depends on the width of the processor's vectors.
    expect([8, 16]).toContain(block);
    expect(missing).toEqual(new Map());
    const { ops, dtypes, nonFiniteConvolution } = ortManifest(engine, "cpu", found);
    expect(nonFiniteConvolution).toEqual({ unsupported: expect.stringMatching(/^Conv.* by IEEE 754 /) });
    expect(ops).toEqual({ ...opDTypes, AttentionGradient: { unsupported: expect.any(String) } });
    expect(dtypes.f16).toEqual({ storage: "f32", compute: "emulated" });
    expect(dtypes.f8e5m2).toEqual({ storage: "f8e5m2", compute: "native" });
  });

  it("leaves nothing behind", async () => {
    const before = runtime.stats();
    await nativeHalves(engineToProbe(runtime));
    const both = emulating("f16", "bf16");
    await probeKernels(engineToProbe(runtime), both, pairsFor(both));
    expect(runtime.stats()).toEqual(before);
  });

  it("leaves nothing behind where a run cannot be fed or fails", async () => {
    const before = runtime.stats();
    const builder = new GraphBuilder();
    const x = builder.input("x", { dtype: "f32", shape: [2] }, "batch");
    const graph = builder.finish({ y: builder.emitOne("Abs", [x], {}) });
    const none = null as unknown as HostTensor;
    await expect(
      runGraph(engineToProbe(runtime), graph, emulating("f16", "bf16"), { x: none }),
    ).rejects.toThrow();
    expect(runtime.stats()).toEqual(before);
  });

  it("is asked once a process", () => {
    expect(probeOnce(runtime)).toBe(probeOnce(runtime));
  });
});

describe("halves that are not carried in f32", () => {
  // On a processor without f16 kernels the engine computes in f32 with casts around; in places it does so on arm64,
  // too.
  const carrying = emulating("bf16");
  const computed = async (): Promise<readonly probes.HalfPair[]> => {
    const all = pairsFor(carrying)
      .filter(isF16)
      .filter(({ op }) => op !== "Constant" && op !== "Cast");
    const missing = await probeKernels(engineToProbe(runtime), carrying, all);
    return all.filter((pair) => !missing.has(pairKey(pair)));
  };
  const isF16 = (pair: probes.ProbePair): pair is probes.ProbePair & { readonly dtype: "f16" } =>
    pair.dtype === "f16";

  it("are unrounded where casts meet, and rounded once their ops are widened", async () => {
    const pairs = await computed();
    const fixed = await probes.opsThatF32Fixes(pairs, ({ graph, inputs }, widened) =>
      runGraph(engineToProbe(runtime), graph, { ...carrying, widened }, inputs),
    );
    for (const op of ["Exp", "Log", "Tanh", "Sigmoid", "Sqrt", "Pow"] as const)
      expect(fixed).toContain(pairKey({ op, dtype: "f16" }));
    for (const op of ["Reshape", "Transpose", "Gather", "Relu"] as const)
      expect(fixed).not.toContain(pairKey({ op, dtype: "f16" }));
    const again = await probes.opsThatF32Fixes(pairs, ({ graph, inputs }) =>
      runGraph(engineToProbe(runtime), graph, { ...carrying, widened: fixed }, inputs),
    );
    expect(again).toEqual(new Set());
  });

  it("are asked what they add up in, one by one where they fail together", async () => {
    const there = new Set((await computed()).map(({ op }) => op));
    // The only sum for which this release has a kernel in f16 everywhere; it fails when it runs.
    const scatters = (["ScatterElements", "ScatterND"] as const).map((op) => ({ op, dtype: "f16" }));
    expect(await narrowSums(engineToProbe(runtime), carrying, ["f16"], ({ op }) => there.has(op))).toEqual(
      scatters,
    );
    const widened = new Set(scatters.map(({ op }) => pairKey({ op, dtype: "f16" })));
    expect(
      await narrowSums(engineToProbe(runtime), { ...carrying, widened }, ["f16"], ({ op }) => there.has(op)),
    ).toEqual([]);
    // bf16 has no matrix product here: an op that fails is not known to be right.
    const asked = ["MatMul", "NegativeLogLikelihoodLoss"];
    const none = { ...carrying, emulated: [] };
    const failing = await narrowSums(engineToProbe(runtime), none, ["bf16"], ({ op }) => asked.includes(op));
    expect(failing).toContainEqual({ op: "MatMul", dtype: "bf16" });
  });
});

describe("what the engine lacks", () => {
  it("is found, told apart from what it has, and said in its own words", async () => {
    // bf16 as the engine's own CPU kernels support it: they move it, and compute little in it.
    const missing = await probeKernels(engineToProbe(runtime), emulating("f16"), pairsFor(emulating("f16")));
    expect(missing.get("Add bf16")).toMatch(/implementation|Add/);
    expect(missing.has("MatMul bf16")).toBe(true);
    expect(missing.has("Identity bf16")).toBe(false);
    expect(missing.has("Reshape bf16")).toBe(false);
    expect([...missing.keys()].filter((key) => key.endsWith(" f32"))).toEqual([]);
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
