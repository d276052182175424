import type { HostTensor } from "@mp/core";
import { isComputeFloat } from "@mp/core/graph";
import type { OnnxGraph } from "@mp/onnx/write";

const ARITHMETIC: ReadonlySet<string> = new Set(["Add", "Sub", "Mul", "Div", "Pow"]);
/** Ops that take any operand, whether or not it is known when the model is compiled. */
const ELEMENTWISE: ReadonlySet<string> = new Set([
  ...ARITHMETIC,
  "Where", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal", "Min", "Max", "Abs", "Neg",
]); // biome-ignore format: one list

/** The bits of a float's exponent are 0 and others are not. */
function holdsSubnormals({ dtype, data }: HostTensor): boolean {
  if (dtype !== "f32") return false;
  return (data as Float32Array).some((number) => number !== 0 && Math.abs(number) < 2 ** -126);
}

/**
 * Names of constants that an optimizer must not know. It merges two of them, although (x · a) · b is not x · (a · b) where
 * x · a overflows or is rounded; it leaves out x + 0, and adds 0 to products, which loses the sign of zeros; it takes
 * subnormal numbers for 0.
 */
export function constantsApart({ nodes, initializers }: OnnxGraph): ReadonlySet<string> {
  const constants = new Map<string, HostTensor>(initializers.map(({ name, tensor }) => [name, tensor]));
  for (const { opType, attributes, outputs } of nodes) {
    const value = opType === "Constant" ? attributes["value"] : undefined;
    if (value?.kind === "tensor" && outputs[0] !== undefined) constants.set(outputs[0], value.value);
  }
  const computed = new Set<string>();
  const fixed = new Set<string>();
  for (const { opType, inputs } of nodes)
    for (const name of inputs) {
      if (ARITHMETIC.has(opType)) computed.add(name);
      if (!ELEMENTWISE.has(opType)) fixed.add(name);
    }
  const isApart = ([name, value]: readonly [string, HostTensor]): boolean =>
    isComputeFloat(value.dtype) && ((computed.has(name) && !fixed.has(name)) || holdsSubnormals(value));
  return new Set([...constants].filter(isApart).map(([name]) => name));
}
