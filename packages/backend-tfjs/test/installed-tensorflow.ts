import { test } from "vitest";
import { loadTfjsNode, type TfjsNode, tensorFlowInstalled } from "../src/load/index.js";

/**
 * Defines tests on the tfjs-node of this package. Where its addon has not been built, there is one that says how to get
 * it; an addon that is there and does not load is a failure.
 */
export async function withTensorFlow(define: (tf: TfjsNode) => void): Promise<void> {
  if (tensorFlowInstalled()) define(await loadTfjsNode());
  else test("not run: TensorFlow's library is not installed, get it with npx mp-libtensorflow", () => {});
}
