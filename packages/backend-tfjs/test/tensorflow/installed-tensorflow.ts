import { loadTfjsNode, type TfjsNode } from "../../src/load/index.js";

/** Defines tests that use this package's tfjs-node. */
export async function withTensorFlow(define: (tf: TfjsNode) => void): Promise<void> {
  define(await loadTfjsNode());
}
