/** The recorded findings on the WebGPU provider, which let it open without a probe, equal those of a probe. */
import { type Findings, knownFindings } from "@mp/onnx-lowering";
import { probeEngine } from "@mp/onnx-lowering/probe";
import { expect, it } from "vitest";
import { openRuntime } from "../../src/native/index.js";
import { engineToProbe } from "../../src/probe/engine-to-probe.js";

/** Leaves out kernels that are missing among those that are widened, and the engine's words. */
const comparable = ({ missing, widened, nonFinite, ...others }: Findings) => ({
  ...others,
  missing: [...missing.keys()].sort(),
  widened: [...widened].filter((key) => !missing.has(key)).sort(),
  hasNonFinite: nonFinite === undefined,
});

it("the findings of this version are those of a probe", async () => {
  const runtime = await openRuntime({ device: "webgpu" });
  try {
    const engine = engineToProbe(runtime);
    const probed = await probeEngine({ ...engine, version: "unknown" });
    const native = probed.missing.has("Identity f16") ? [] : (["f16"] as const);
    const known = knownFindings(engine, native);
    expect(known === undefined ? undefined : comparable(known)).toEqual(comparable(probed));
  } finally {
    await runtime.dispose();
  }
});
