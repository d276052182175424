/**
 * The accumulator dtype of sums. A sum that accumulates in f16 stalls at 2^11, one in bf16 at 2^8, and partial sums in
 * f16 overflow.
 */
import type { AddingOp, HalfDType, HostTensor, OpAttributes } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { generate, hostData } from "../host-data.js";
import { accumulationCases } from "./accumulation.js";
import { sumCase } from "./kinds/sum-case.js";

const along = (axis: number) => ({ axes: [axis], keepdims: false });
const gemm = { transA: false, transB: false, alpha: 1, beta: 1 };

/** A number to which adding 1 in the half dtype has no effect. */
const stall: Readonly<Record<HalfDType, number>> = { f16: 2048, bf16: 256 };

const pointwise = { strides: [1], pads: [0, 0], dilations: [1], group: 1 };

/** Convolutions in which every sum is big + 1 - big; in some, the bias is the last term. */
function convolutionSums(dtype: HalfDType): readonly ConformanceCase[] {
  const big = stall[dtype];
  const data = (numbers: readonly number[], shape: readonly number[]): HostTensor =>
    hostData(dtype, numbers, shape);
  const ones = (shape: readonly number[]): HostTensor => generate(dtype, shape, () => 1);
  const sum = <K extends AddingOp>(
    op: K,
    behaviour: string,
    attributes: OpAttributes[K],
    inputs: HostTensor[],
  ) => sumCase(`summation/${op}-${dtype}/${behaviour}`, dtype, { op, attributes, inputs });
  const [channels, line] = [data([big, 1, -big], [1, 3, 1]), data([big, 1, -big], [1, 1, 3])];
  const transposed = { ...pointwise, outputPadding: [0] };
  return [
    sum("Conv", "small-terms-are-not-lost", pointwise, [channels, ones([1, 3, 1])]),
    sum("Conv", "the-bias-is-added-before-rounding", pointwise, [
      data([big, 1], [1, 2, 1]),
      ones([1, 2, 1]),
      data([-big], [1]),
    ]),
    sum("ConvTranspose", "small-terms-are-not-lost", transposed, [channels, ones([3, 1, 1])]),
    sum("ConvTranspose", "the-bias-is-added-before-rounding", transposed, [
      data([big, 1], [1, 2, 1]),
      ones([2, 1, 1]),
      data([-big], [1]),
    ]),
    sum("ConvWeightGradient", "small-terms-are-not-lost", { ...pointwise, kernelShape: [1] }, [
      line,
      ones([1, 1, 3]),
    ]),
    sum("ConvWeightGradient", "images-are-added-before-rounding", { ...pointwise, kernelShape: [1] }, [
      data([big, 1, -big], [3, 1, 1]),
      ones([3, 1, 1]),
    ]),
  ];
}

function halfCases(dtype: HalfDType): readonly ConformanceCase[] {
  const big = stall[dtype];
  const cancelling = hostData(dtype, [big, 1, -big]);
  const [row, column] = [hostData(dtype, [big, 1, -big], [1, 3]), hostData(dtype, [1, 1, 1], [3, 1])];
  const rising = hostData(dtype, [big, 1, 1, 1, 1]);
  const ones = (count: number): HostTensor => generate(dtype, [count], () => 1);
  const sum = <K extends AddingOp>(
    op: K,
    behaviour: string,
    attributes: OpAttributes[K],
    ...inputs: readonly HostTensor[]
  ) => sumCase(`summation/${op}-${dtype}/${behaviour}`, dtype, { op, attributes, inputs });
  return [
    sum("ReduceSum", "small-terms-are-not-lost", along(0), cancelling),
    sum("ReduceMean", "small-terms-are-not-lost", along(0), cancelling),
    sum("ReduceL1", "small-terms-are-not-lost", along(0), rising),
    sum(
      "ReduceSumSquare",
      "small-terms-are-not-lost",
      along(0),
      hostData(dtype, [Math.sqrt(big / 2), Math.sqrt(big / 2), 1, 1, 1, 1]),
    ),
    sum(
      "CumSum",
      "small-terms-are-not-lost",
      { axis: 0, exclusive: false, reverse: false },
      hostData(dtype, [big, 1, 1, 1, 1, -big]),
    ),
    sum("MatMul", "small-terms-are-not-lost", {}, row, column),
    sum("Gemm", "small-terms-are-not-lost", gemm, row, column),
    sum("Einsum", "small-terms-are-not-lost", { equation: "ij,jk->ik" }, row, column),
    sum(
      "Gemm",
      "the-bias-is-added-before-rounding",
      gemm,
      hostData(dtype, [big, 1], [1, 2]),
      hostData(dtype, [1, 1], [2, 1]),
      hostData(dtype, [-big], [1]),
    ),
    ...convolutionSums(dtype),
    // 70 000 is infinity in f16 and 70 144 in bf16; a stalled sum never gives either.
    sum("ReduceSum", "70-000-ones", along(0), ones(70_000)),
    sum("ReduceMean", "70-000-ones", along(0), ones(70_000)),
    sum(
      "Softmax",
      "4096-equal-logits",
      { axis: 0 },
      generate(dtype, [4096], () => 2),
    ),
    sum(
      "LogSoftmax",
      "4096-equal-logits",
      { axis: 0 },
      generate(dtype, [4096], () => 2),
    ),
    sum(
      "ReduceLogSumExp",
      "4096-equal-terms",
      along(0),
      generate(dtype, [4096], () => 0),
    ),
    sum(
      "LayerNormalization",
      "the-mean-does-not-overflow",
      { axis: 1, epsilon: 1e-5 },
      generate(dtype, [1, 64], (at) => 50_000 + 1024 * (at % 2)),
      generate(dtype, [64], () => 1),
    ),
    sum(
      "RMSNormalization",
      "the-squares-do-not-overflow",
      { axis: 1, epsilon: 1e-5 },
      generate(dtype, [1, 64], (at) => 300 + (at % 4)),
      generate(dtype, [64], () => 1),
    ),
  ];
}

/** Sums in f32 that are exact in every order. */
const single: readonly ConformanceCase[] = [
  sumCase("summation/ReduceSum-f32/70-000-ones", "f32", {
    op: "ReduceSum",
    attributes: along(0),
    inputs: [generate("f32", [70_000], () => 1)],
  }),
  sumCase("summation/MatMul-f32/70-000-ones", "f32", {
    op: "MatMul",
    attributes: {},
    inputs: [generate("f32", [1, 70_000], () => 1), generate("f32", [70_000, 1], () => 1)],
  }),
  // A product that keeps fewer bits than f32 (TF32, bf16 parts) gives 2^24.
  sumCase("summation/MatMul-f32/keeps-24-bits", "f32", {
    op: "MatMul",
    attributes: {},
    inputs: [hostData("f32", [4095, 0, 0, 4095], [2, 2]), hostData("f32", [4095, 0, 0, 4097], [2, 2])],
  }),
];

export const summationCases: readonly ConformanceCase[] = [
  ...halfCases("f16"),
  ...halfCases("bf16"),
  ...accumulationCases("f16"),
  ...accumulationCases("bf16"),
  ...single,
];
