import { test } from "vitest";
import { loadTfjsNode, type TfjsNode, tensorFlowInstalled } from "../src/load/index.js";

/**
 * Defines tests that use this package's tfjs-node. Where its addon has not been built, a single test says how to get
 * it; an addon that is there but does not load is a failure.
 */
export async function withTensorFlow(define: (tf: TfjsNode) => void): Promise<void> {
  if (tensorFlowInstalled()) define(await loadTfjsNode());
  else test("not run: TensorFlow's library is not installed, get it with npx mp-libtensorflow", () => {});
}
