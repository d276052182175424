import type { Backend } from "@mp/graph";
import { tfjsBackend } from "./backend.js";
import { expectTensorFlow, type TfjsNode } from "./load/index.js";
import { tfjsManifest } from "./manifest.js";
import { probeEngine } from "./probe/findings.js";
import { isWidened } from "./widened.js";

export { fromTfData, type TfDataset } from "./from-tf-data.js";
export { type LoadOptions, loadTfjsNode, restoreNodeUtil, type TfjsNode } from "./load/index.js";
export { type TensorMaker, toTf } from "./to-tf.js";

export interface TfjsOptions {
  /** `@tensorflow/tfjs-node` or `@tensorflow/tfjs-node-gpu`, as the program imported it. */
  readonly tf: TfjsNode;
}

/**
 * Opens the TensorFlow that the user's tfjs-node has loaded, as a backend.
 * @example
 * ```ts
 * import * as tf from "@tensorflow/tfjs-node";
 *
 * const backend = await tfjs({ tf });
 * ```
 * @throws MP_INVALID_ARGUMENT if `tf` is not tfjs-node; MP_SPEC_VERSION if it lacks a required member
 */
export async function tfjs(options: TfjsOptions): Promise<Backend> {
  const tensorFlow = expectTensorFlow(options?.tf);
  const findings = await probeEngine(tensorFlow);
  const engine = { name: "tensorflow", version: tensorFlow.version };
  return tfjsBackend({
    tensorFlow,
    manifest: tfjsManifest(engine, tensorFlow.device, findings),
    isWidened: (node) => isWidened(node, findings),
  });
}
