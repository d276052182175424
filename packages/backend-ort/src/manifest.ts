import type { BackendManifest } from "@mp/graph";
import { type Findings, kernelManifest } from "@mp/onnx-lowering";
import type { NativeRuntime } from "./native/index.js";

/** Makes the manifest, which users, core and the conformance suite read, from the probe's findings. */
export function ortManifest(
  engine: BackendManifest["engine"],
  device: NativeRuntime["device"],
  findings: Findings,
): BackendManifest {
  return Object.freeze({
    specVersion: "v1",
    engine,
    device,
    ...kernelManifest(findings),
    eventLoop: "free",
    // The planner gives a dead value's buffer to a later value of its shape, and frees it after the last.
    intermediates: "kept-for-its-shape",
    profile: true,
    memory: device === "cuda" ? { unsupported: "the device's arena is not read" } : true,
  });
}
