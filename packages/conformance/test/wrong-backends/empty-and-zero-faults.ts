/** Kernels that skip work because of zeros or empty operands. */
import type { HostTensor } from "@mp/graph";
import { hostData, toNumbers } from "../../src/host-data.js";
import { dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

const isZero = (tensor: HostTensor): boolean => toNumbers(tensor).every((x) => x === 0);

/** Treats every scatter into zeros as a sum, as in gradients of gathers, whatever its reduction. */
const addingIntoZeros =
  <K extends "ScatterElements" | "ScatterND">(op: K): HostKernel<K> =>
  (operands, attributes) => {
    const data = dataOf(operands);
    const adds = isZero(data[0] as HostTensor) && ["max", "min", "mul"].includes(attributes.reduction);
    return evaluateNode(op, data, adds ? { ...attributes, reduction: "add" } : attributes);
  };

/** Does not add C if there is nothing to multiply. */
const withoutAddend: HostKernel<"Gemm"> = (operands, attributes) => {
  const [a, b, ...c] = dataOf(operands) as [HostTensor, HostTensor, ...HostTensor[]];
  return evaluateNode("Gemm", a.data.length === 0 ? [a, b] : [a, b, ...c], attributes);
};

/** Never writes the memory of sums without terms. */
const unwritten: HostKernel<"ConvWeightGradient"> = (operands, attributes) => {
  const data = dataOf(operands);
  const [dw] = evaluateNode("ConvWeightGradient", data, attributes) as readonly [HostTensor];
  if (data[0]?.data.length !== 0) return [dw];
  return [
    hostData(
      dw.dtype,
      toNumbers(dw).map(() => 7),
      dw.shape,
    ),
  ];
};

export const emptyAndZeroFaults: readonly WrongBackend[] = [
  {
    fault: "scatters into zeros add, whatever they should do",
    factory: () =>
      oracleWithKernels({
        ScatterElements: addingIntoZeros("ScatterElements"),
        ScatterND: addingIntoZeros("ScatterND"),
      }),
    axes: ["op"],
    among: /Scatter/,
    named: ["f32", "f16", "bf16", "i32"].flatMap((dtype) => [
      `op/ScatterElements-${dtype}/into-zeros-of-the-graph`,
      `op/ScatterND-${dtype}/into-zeros-of-the-graph`,
    ]),
  },
  {
    fault:
      "a product of no terms drops what is added to it, and gradients of filters over no images are not written",
    factory: () => oracleWithKernels({ Gemm: withoutAddend, ConvWeightGradient: unwritten }),
    axes: ["op", "fusion"],
    among: /Gemm|ConvWeightGradient|fusion/,
    named: [
      "op/Gemm-f32/values",
      "fusion/sum-with-a-product-f32/alone",
      "op/ConvWeightGradient-f32/empty-batch",
      "op/ConvWeightGradient-bf16/empty-batch",
    ],
    consequences: [/^(op\/(Gemm|ConvWeightGradient)-|fusion\/)/],
  },
];
