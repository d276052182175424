export { expectTensorFlow, type TensorFlow } from "./expect-tensorflow.js";
export { type LoadOptions, loadTfjsNode } from "./load-tfjs-node.js";
export { restoreNodeUtil } from "./restore-node-util.js";
export type { TfjsBinding, TfjsNode } from "./tfjs-node.js";
