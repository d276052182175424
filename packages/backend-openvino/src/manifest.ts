import type { BackendManifest } from "@mp/graph";
import { type Findings, kernelManifest } from "@mp/onnx-lowering";

/** Makes the manifest for users, core and the conformance suite from the probe's findings and the library's limits. */
export function openvinoManifest(version: string, findings: Findings): BackendManifest {
  return Object.freeze({
    specVersion: "v1",
    engine: { name: "openvino", version },
    device: "cpu",
    ...kernelManifest(findings),
    eventLoop: "free",
    profile: true,
    memory: { unsupported: "the library does not report the memory that a model takes" },
  });
}
