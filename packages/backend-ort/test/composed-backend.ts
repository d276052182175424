/** The lowerings for a device that is not here, run on the processor's kernels. */
import type { Backend, HostTensor } from "@mp/graph";
import { defineBackend, exactNumerics } from "@mp/graph/backend";
import { type Findings, kernelManifest, type ProbedEngine, targetOf } from "@mp/onnx-lowering";
import { runGraph } from "@mp/onnx-lowering/probe";

export function composedBackend(engine: ProbedEngine, findings: Findings): Backend {
  const target = targetOf(findings);
  return defineBackend<HostTensor>({
    name: "composed",
    manifest: {
      specVersion: "v1",
      engine: { name: "onnxruntime", version: engine.version },
      device: "other",
      ...kernelManifest(findings),
      // The processor keeps them, whatever the device does.
      subnormals: exactNumerics.subnormals,
      eventLoop: "blocked-during-step",
      profile: { unsupported: "not asked" },
      memory: { unsupported: "not asked" },
    },
    upload: (tensor) => ({ ...tensor, data: tensor.data.slice() }) as HostTensor,
    download: (stored) => ({ ...stored, data: stored.data.slice() }) as HostTensor,
    compile: (graph) => ({ run: (inputs) => runGraph(engine, graph, target, inputs) }),
  });
}
