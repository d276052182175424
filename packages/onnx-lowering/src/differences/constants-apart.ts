import type { OnnxGraph } from "@mp/onnx/write";

const MERGED: ReadonlySet<string> = new Set(["Add", "Sub", "Mul", "Div"]);

/**
 * Names of constants that an optimizer would merge with another: (x · a) · b is no x · (a · b) where x · a overflows or
 * is rounded. Bound as inputs they are unknown to it.
 */
export function constantsApart({ nodes, initializers }: OnnxGraph): ReadonlySet<string> {
  const constants = new Set([
    ...initializers.filter(({ tensor }) => tensor.dtype === "f32").map(({ name }) => name),
    ...nodes.filter(({ opType }) => opType === "Constant").flatMap(({ outputs }) => outputs),
  ]);
  const withConstant = new Set<string>();
  const apart = new Set<string>();
  for (const { opType, inputs, outputs } of nodes) {
    const constant = inputs.find((name) => constants.has(name));
    if (!MERGED.has(opType) || constant === undefined) continue;
    if (inputs.some((name) => withConstant.has(name))) apart.add(constant);
    for (const output of outputs) withConstant.add(output);
  }
  return apart;
}
