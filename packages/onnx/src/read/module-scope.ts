import type { OnnxNode } from "../model.js";

/** Metadata key for the modules around a node in PyTorch's files: `['', 'layer1', 'layer1.0', 'conv2d']`. */
const MODULES = "pkg.torch.onnx.name_scopes";
const QUOTED = /'((?:[^'\\]|\\.)*)'/g;
/** The exporter's placeholder for modules that it lost. */
const LOST = "_empty_nn_module_stack_from_metadata_hook";

/**
 * The layer to which a node belongs, such as `layer1/0`, from the list that PyTorch's exporter writes. Without a list,
 * the node's name gives the layer, because other exporters name nodes by module path, `/encoder/layer.0/MatMul`.
 */
export function moduleScope({ name, metadata }: OnnxNode): string {
  const listed = metadata[MODULES];
  if (listed === undefined) return outer(name.split("/").filter((part) => part !== "")).join("/");
  const modules = [...listed.matchAll(QUOTED)].map(([, module = ""]) => module);
  const innermost = outer(modules).findLast((module) => module !== "" && module !== LOST) ?? "";
  return innermost.replaceAll(".", "/");
}

const outer = (parts: readonly string[]): readonly string[] => parts.slice(0, -1);
