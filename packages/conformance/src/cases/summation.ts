/** What sums run in. A half that sums in itself stalls at 2^11 (f16) or 2^8 (bf16) and overflows on the way. */
import {
  type BackendManifest,
  type ComputeDType,
  floatFormats,
  type Graph,
  GraphBuilder,
  type HalfDType,
  type HostTensor,
  type Op,
  type OpAttributes,
} from "@mp/core";
import { evaluate } from "@mp/core/reference";
import { allowanceOf } from "../compare/allowance.js";
import { compareTensors } from "../compare/compare-tensors.js";
import type { ConformanceCase } from "../conformance-case.js";
import { fail } from "../expectations.js";
import { expectRefused, runGraph } from "../graph-case.js";
import { generated, hostData, numbersOf } from "../samples/host-data.js";
import { unsupportedGraph } from "../support.js";

interface Sum<K extends Op> {
  readonly op: K;
  readonly attributes: OpAttributes[K];
  readonly inputs: readonly HostTensor[];
}

/**
 * Where the manifest says that a dtype sums in f32, the result is the oracle's. Where it owns to a half, every partial
 * sum may lose half a unit: the result is then within that of the terms.
 */
function sumCase<K extends Op>(
  id: string,
  dtype: ComputeDType,
  { op, attributes, inputs }: Sum<K>,
): ConformanceCase {
  const builder = new GraphBuilder();
  const operands = inputs.map((tensor, index) => builder.input(`x${index}`, tensor, "batch"));
  const graph: Graph = builder.finish({
    y: builder.emit(op, operands, attributes)[0] ?? builder.literal(0, "f32"),
  });
  const fed = Object.fromEntries(inputs.map((tensor, index) => [`x${index}`, tensor]));
  return {
    id,
    unsupported: (manifest) => unsupportedGraph(manifest, graph),
    refuses: (backend) => expectRefused(backend, graph),
    run: async (backend) => {
      const { y } = await runGraph(backend, graph, fed);
      const want = evaluate(graph, fed)["y"] as HostTensor;
      const problem = sumsInF32(backend.manifest, dtype)
        ? compareTensors(y, want, allowanceOf(backend.manifest, op, dtype))
        : looseProblem(y, want, inputs, dtype);
      if (problem !== undefined)
        fail(`${op} in ${dtype}, which sums in ${backend.manifest.accumulate[dtype]}, ${problem}`);
    },
  };
}

const sumsInF32 = (manifest: BackendManifest, dtype: ComputeDType): boolean =>
  manifest.accumulate[dtype] === "f32";

function looseProblem(
  got: HostTensor | undefined,
  want: HostTensor,
  inputs: readonly HostTensor[],
  dtype: ComputeDType,
): string | undefined {
  if (got === undefined) return "is missing";
  const terms = numbersOf(inputs[0] as HostTensor);
  const size = terms.reduce((sum, x) => sum + Math.abs(x), 0);
  const slack = terms.length * 2 ** -floatFormats[dtype].fractionBits * size;
  const wanted = numbersOf(want);
  const off = numbersOf(got).findIndex((x, at) => !(Math.abs(x - (wanted[at] as number)) <= slack));
  return off < 0 ? undefined : `at ${off} is ${numbersOf(got)[off]}, want ${wanted[off]} within ${slack}`;
}

const along = (axis: number) => ({ axes: [axis], keepdims: false });
const gemm = { transA: false, transB: false, alpha: 1, beta: 1 };

/** A number from which one, added in the half, is lost. */
const stall: Readonly<Record<HalfDType, number>> = { f16: 2048, bf16: 256 };

const pointwise = { strides: [1], pads: [0, 0], dilations: [1], group: 1 };

/** Convolutions whose every sum is [big, 1, -big] · 1, or has a bias of 1 at its end. */
function convolutionSums(dtype: HalfDType): readonly ConformanceCase[] {
  const big = stall[dtype];
  const data = (numbers: readonly number[], shape: readonly number[]): HostTensor =>
    hostData(dtype, numbers, shape);
  const ones = (shape: readonly number[]): HostTensor => generated(dtype, shape, () => 1);
  const sum = <K extends Op>(op: K, behaviour: string, attributes: OpAttributes[K], inputs: HostTensor[]) =>
    sumCase(`summation/${op}-${dtype}/${behaviour}`, dtype, { op, attributes, inputs });
  const [channels, line] = [data([big, 1, -big], [1, 3, 1]), data([big, 1, -big], [1, 1, 3])];
  const transposed = { ...pointwise, outputPadding: [0] };
  return [
    sum("Conv", "small-terms-are-not-lost", pointwise, [channels, ones([1, 3, 1])]),
    sum("Conv", "the-bias-is-added-before-rounding", pointwise, [
      data([big, 1], [1, 2, 1]),
      ones([1, 2, 1]),
      ones([1]),
    ]),
    sum("Conv", "5000-ones", pointwise, [ones([1, 5000, 1]), generated(dtype, [1, 5000, 1], () => 0.5)]),
    sum("ConvTranspose", "small-terms-are-not-lost", transposed, [channels, ones([3, 1, 1])]),
    sum("ConvTranspose", "the-bias-is-added-before-rounding", transposed, [
      data([big, 1], [1, 2, 1]),
      ones([2, 1, 1]),
      ones([1]),
    ]),
    sum("ConvWeightGradient", "small-terms-are-not-lost", { ...pointwise, kernelShape: [1] }, [
      line,
      ones([1, 1, 3]),
    ]),
    sum("ConvWeightGradient", "images-are-added-before-rounding", { ...pointwise, kernelShape: [1] }, [
      data([big, 1, -big], [3, 1, 1]),
      ones([3, 1, 1]),
    ]),
    sum("ConvWeightGradient", "5000-ones", { ...pointwise, kernelShape: [1] }, [
      ones([1, 1, 5000]),
      generated(dtype, [1, 1, 5000], () => 0.5),
    ]),
  ];
}

function halfCases(dtype: HalfDType): readonly ConformanceCase[] {
  const big = stall[dtype];
  const cancelling = hostData(dtype, [big, 1, -big]);
  const [row, column] = [hostData(dtype, [big, 1, -big], [1, 3]), hostData(dtype, [1, 1, 1], [3, 1])];
  const rising = hostData(dtype, [big, 1, 1, 1, 1]);
  const ones = (count: number): HostTensor => generated(dtype, [count], () => 1);
  const sum = <K extends Op>(
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
    sum(
      "Gemm",
      "the-bias-is-added-before-rounding",
      gemm,
      hostData(dtype, [big, 1], [1, 2]),
      hostData(dtype, [1, 1], [2, 1]),
      hostData(dtype, [1], [1]),
    ),
    ...convolutionSums(dtype),
    // 70 000 is infinity in f16, 70 144 in bf16, and never what a stalled sum gives.
    sum("ReduceSum", "70-000-ones", along(0), ones(70_000)),
    sum("ReduceMean", "70-000-ones", along(0), ones(70_000)),
    sum(
      "MatMul",
      "5000-ones",
      {},
      generated(dtype, [1, 5000], () => 1),
      generated(dtype, [5000, 1], () => 0.5),
    ),
    sum(
      "Softmax",
      "4096-equal-logits",
      { axis: 0 },
      generated(dtype, [4096], () => 2),
    ),
    sum(
      "LogSoftmax",
      "4096-equal-logits",
      { axis: 0 },
      generated(dtype, [4096], () => 2),
    ),
    sum(
      "ReduceLogSumExp",
      "4096-equal-terms",
      along(0),
      generated(dtype, [4096], () => 0),
    ),
    sum(
      "LayerNormalization",
      "the-mean-does-not-overflow",
      { axis: 1, epsilon: 1e-5 },
      generated(dtype, [1, 64], (at) => 50_000 + 1024 * (at % 2)),
      generated(dtype, [64], () => 1),
    ),
    sum(
      "RMSNormalization",
      "the-squares-do-not-overflow",
      { axis: 1, epsilon: 1e-5 },
      generated(dtype, [1, 64], (at) => 300 + (at % 4)),
      generated(dtype, [64], () => 1),
    ),
  ];
}

/** In f32 every order gives these exactly. */
const single: readonly ConformanceCase[] = [
  sumCase("summation/ReduceSum-f32/70-000-ones", "f32", {
    op: "ReduceSum",
    attributes: along(0),
    inputs: [generated("f32", [70_000], () => 1)],
  }),
  sumCase("summation/MatMul-f32/70-000-ones", "f32", {
    op: "MatMul",
    attributes: {},
    inputs: [generated("f32", [1, 70_000], () => 1), generated("f32", [70_000, 1], () => 1)],
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
  ...single,
];
