import { test } from "vitest";
import { loadTfjsNode, type TfjsNode, tensorFlowInstalled } from "../src/load/index.js";

/**
 * The tfjs-node of this package, or nothing where its addon has not been built; then the file's one test says how to get
 * it. An addon that is there and does not load is a failure.
 */
export async function installedTensorFlow(): Promise<TfjsNode | undefined> {
  if (tensorFlowInstalled()) return loadTfjsNode();
  test("not run: TensorFlow's library is not installed, get it with npx mp-libtensorflow", () => {});
  return undefined;
}
