import type { BackendManifest } from "@mp/graph";
import { type Findings, kernelManifest } from "@mp/onnx-lowering";

/** Makes the manifest from the findings and the engine's limits. */
export function webManifest(version: string, findings: Findings): BackendManifest {
  return Object.freeze({
    specVersion: "v1",
    engine: { name: "onnxruntime-web", version },
    device: "other",
    ...kernelManifest(findings),
    eventLoop: "free",
    profile: { unsupported: "onnxruntime-web gives times of kernels, not of a model's nodes" },
    memory: { unsupported: "onnxruntime-web does not count the memory of its kernels" },
  });
}
