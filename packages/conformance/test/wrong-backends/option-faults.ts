/** Faults in one value of an attribute, or in two values together. */
import type { HostTensor, Op, OpAttributes } from "@mp/graph";
import { dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

/** A kernel that returns the oracle's results for other attributes, if `change` returns some. */
const instead =
  <K extends Op>(
    op: K,
    change: (attributes: OpAttributes[K], inputs: readonly HostTensor[]) => OpAttributes[K] | undefined,
  ): HostKernel<K> =>
  (operands, attributes) => {
    const inputs = dataOf(operands);
    return evaluateNode(op, inputs, change(attributes, inputs) ?? attributes);
  };

const GROUPS = ["op", "size", "reduce", "rare", "axis", "option", "integer", "image"];

const fault = <K extends Op>(name: string, op: K, kernel: HostKernel<K>): WrongBackend => ({
  fault: name,
  factory: () => oracleWithKernels({ [op]: kernel }),
  axes: GROUPS,
  among: new RegExp(`/${op}[-/]`),
  named: [`option/${op}-f32/each-value-and-each-two`],
  consequences: [new RegExp(`^option/${op}-`)],
});

const without = <T extends object, N extends keyof T>(given: T, name: N): T => {
  const { [name]: _, ...rest } = given;
  return rest as T;
};

const isLoss = (op: "SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss", name: string): WrongBackend =>
  fault(
    name,
    op,
    instead(op, (attributes) =>
      attributes.ignoreIndex === 0 ? without(attributes, "ignoreIndex") : undefined,
    ) as HostKernel<typeof op>,
  );

export const optionFaults: readonly WrongBackend[] = [
  isLoss("SoftmaxCrossEntropyLoss", "cross entropy ignores no label 0"),
  isLoss("NegativeLogLikelihoodLoss", "a likelihood ignores no label 0"),
  fault(
    "Einsum sums the whole of a matrix whose diagonal is wanted",
    "Einsum",
    instead("Einsum", ({ equation }) => (equation === "ii->" ? { equation: "ij->" } : undefined)),
  ),
  fault(
    "Einsum of a transposed outer product with a vector forgets to transpose",
    "Einsum",
    instead("Einsum", ({ equation }) => (equation === "iji->ji" ? { equation: "jij->ji" } : undefined)),
  ),
  fault(
    "a factor of Gemm is lost where both matrices are transposed",
    "Gemm",
    instead("Gemm", (attributes) =>
      attributes.transA && attributes.transB ? { ...attributes, alpha: 1 } : undefined,
    ),
  ),
  fault(
    "means in ceil mode that count padding at the beginning alone do not count it",
    "AveragePool",
    (operands, attributes) => {
      const inputs = dataOf(operands);
      const [right] = evaluateNode("AveragePool", inputs, attributes) as [HostTensor];
      const { ceilMode, countIncludePad, pads } = attributes;
      const ends = pads.slice(pads.length / 2);
      if (!ceilMode || !countIncludePad || ends.some((pad) => pad > 0)) return [right];
      return evaluateNode("AveragePool", inputs, { ...attributes, countIncludePad: false });
    },
  ),
  fault(
    "grouped convolutions whose strides differ by axis swap the pads of both ends",
    "Conv",
    instead("Conv", (attributes) => {
      const { strides, group, pads } = attributes;
      const isOne = group > 1 && strides.length === 2 && strides[0] !== strides[1];
      return isOne ? { ...attributes, pads: [...pads.slice(2), ...pads.slice(0, 2)] } : undefined;
    }),
  ),
  fault(
    "a softcap is lost beside a causal mask",
    "Attention",
    instead("Attention", (attributes) =>
      attributes.isCausal && attributes.softcap > 0 ? { ...attributes, softcap: 0 } : undefined,
    ),
  ),
  fault(
    "an epsilon beside a bias is the default one",
    "LayerNormalization",
    instead("LayerNormalization", (attributes, inputs) =>
      inputs.length === 3 && attributes.epsilon > 0.5 ? { ...attributes, epsilon: 1e-3 } : undefined,
    ),
  ),
];
