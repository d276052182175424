import type { OpOf } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { product } from "./operators.js";
import { at, type OwnLowering, operandType } from "./own-lowering.js";

type Normalization = Extract<OpOf<"normalization">, "LayerNormalization" | "RMSNormalization">;

/** Expands scale and offset to the normalized shape, because kernels read past the end of shorter ones. */
export function withWholeParameters(
  node: Parameters<OwnLowering<Normalization>>[0],
  operands: readonly string[],
  writer: NodeWriter,
): readonly string[] {
  const normalized = operandType(node).shape.slice(node.attributes.axis);
  return operands.map((name, index) => {
    const own = node.inputs[index]?.shape ?? [];
    if (index === 0 || product(own) === product(normalized)) return name;
    return writer.one("Expand", [name, writer.ints(normalized)]);
  });
}

/**
 * Subtracts the mean before the kernel runs. The kernel's mean is off by an ulp, which matters if the mean is
 * large; other kernels compute the variance as the mean of squares minus the squared mean, which cancels.
 */
export const layerNormalization: OwnLowering<"LayerNormalization"> = (node, operands, writer, standard) => {
  const { axis } = node.attributes;
  const { dtype, shape } = operandType(node);
  const axes = writer.ints(shape.flatMap((_, index) => (index < axis ? [] : [index])));
  const mean = writer.one("ReduceMean", [at(operands, 0), axes], { keepdims: int(1) });
  const [x = "", ...parameters] = withWholeParameters(node, operands, writer);
  const [y = "", left = "", deviation = ""] = standard([writer.one("Sub", [x, mean]), ...parameters]);
  // The statistics are f32. Only a probe asks for another dtype of x.
  const taken = dtype === "f32" ? mean : writer.cast(mean, "f32");
  return [y, writer.one("Add", [taken, left]), deviation];
};
