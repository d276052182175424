/**
 * Sums of 5000 terms in every form for which engines have separate kernels: rows and columns, transposed, batched,
 * over channels, over taps, over several axes. If the manifest says that an operator accumulates in f32, it
 * must do so in each of these forms.
 *
 * Backends run the probe of `besideLarge` on themselves; `halvesOf2500` tests the same without that probe.
 */
import {
  ADDING_OPS,
  type AddingOp,
  type GraphBuilder,
  type HalfDType,
  type HostTensor,
  type OpAttributes,
  type Value,
} from "@mp/graph";
import { accumulatorOf } from "@mp/graph/internal";
import * as probes from "@mp/graph/probe";
import { evaluate } from "@mp/graph/reference";
import type { ConformanceCase } from "../conformance-case.js";
import { expectThat } from "../expectations.js";
import { generate, hostData, toNumbers } from "../host-data.js";
import { runGraph, type Tensors } from "./kinds/graph-case.js";
import { looseProblem } from "./kinds/loose-sum.js";
import { scriptedCase } from "./kinds/scripted-case.js";
import { type Sum, sumCase } from "./kinds/sum-case.js";

/** Checks that sums whose partial sums are rounded to `half` can give these results. */
function expectLoose(
  op: AddingOp,
  half: HalfDType,
  { graph, inputs }: probes.SumProbe,
  results: Tensors,
): void {
  const magnitude = (tensor: HostTensor): HostTensor =>
    hostData(tensor.dtype, toNumbers(tensor).map(Math.abs), tensor.shape);
  const [want, magnitudes] = [
    evaluate(graph, inputs),
    evaluate(
      graph,
      Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [name, magnitude(tensor)])),
    ),
  ];
  const terms = Object.values(inputs).reduce((most, tensor) =>
    tensor.data.length > most.data.length ? tensor : most,
  );
  for (const { name } of graph.outputs) {
    const problem = looseProblem(op, half, {
      got: results[name],
      want: want[name] as HostTensor,
      magnitudes: magnitudes[name] as HostTensor,
      terms,
    });
    expectThat(problem === undefined, `${op} in ${half}, which sums in ${half}, ${problem}`);
  }
}

/** Sums small terms and a large one, in all the forms that a backend's own probe uses. */
function besideLarge(op: AddingOp, half: HalfDType): ConformanceCase {
  const probe = () => probes.sumProbe(half, [op]);
  return scriptedCase(
    `summation/${op}-${half}/small-terms-beside-a-large-one`,
    () => probe().graph,
    async (backend) => {
      const { graph, inputs, narrow } = probe();
      const results = await runGraph(backend, graph, inputs);
      if (accumulatorOf(backend.manifest, op, half) !== "f32") return expectLoose(op, half, probe(), results);
      const missing = graph.outputs.find(({ name }) => results[name] === undefined);
      expectThat(missing === undefined, `run gives no output "${missing?.name}"`);
      expectThat(
        narrow(results).length === 0,
        `${op} in ${half} is declared to accumulate in f32, and loses small terms beside a large one`,
      );
    },
  );
}

const TERMS = 5000;
/** Transposes the last two axes of the operands at the given indices. */
const transposing =
  (...places: readonly number[]) =>
  (builder: GraphBuilder, operand: Value, place: number): Value => {
    if (!places.includes(place)) return operand;
    const axes = operand.shape.map((_, axis) => axis);
    const perm = [...axes.slice(0, -2), axes.length - 1, axes.length - 2];
    return builder.emitOne("Transpose", [operand], { perm });
  };
const image = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], group: 1 };
const gemm = { transA: false, transB: false, alpha: 1, beta: 1 };

/** Sums 5000 times 0.5 to 2500; accumulation in f16 stalls at 1024, in bf16 at 128. */
function halvesOf2500(half: HalfDType): readonly ConformanceCase[] {
  const ones = (...shape: number[]): HostTensor => generate(half, shape, () => 1);
  const halves = (...shape: number[]): HostTensor => generate(half, shape, () => 0.5);
  const sum = <K extends AddingOp>(
    op: K,
    form: string,
    attributes: OpAttributes[K],
    inputs: readonly HostTensor[],
    before?: Sum<K>["before"],
  ) =>
    sumCase(`summation/${op}-${half}/5000-terms-${form}`, half, {
      op,
      attributes,
      inputs,
      ...(before === undefined ? {} : { before }),
    });
  return [
    sum("MatMul", "of-rows-and-columns", {}, [ones(3, TERMS), halves(TERMS, 2)]),
    sum("MatMul", "batched", {}, [ones(2, 3, TERMS), halves(2, TERMS, 2)]),
    sum("MatMul", "by-one-matrix-for-all", {}, [ones(2, 3, TERMS), halves(TERMS, 2)]),
    sum("MatMul", "left-transposed", {}, [ones(TERMS, 3), halves(TERMS, 2)], transposing(0)),
    sum("MatMul", "right-transposed", {}, [ones(3, TERMS), halves(2, TERMS)], transposing(1)),
    sum("MatMul", "both-transposed", {}, [ones(TERMS, 3), halves(2, TERMS)], transposing(0, 1)),
    sum(
      "MatMul",
      "batched-and-transposed",
      {},
      [ones(2, 2, 3, TERMS), halves(2, 1, 2, TERMS)],
      transposing(1),
    ),
    sum("MatMul", "of-vectors", {}, [ones(TERMS), halves(TERMS)]),
    sum("MatMul", "of-a-matrix-by-a-vector", {}, [ones(3, TERMS), halves(TERMS)]),
    sum("Gemm", "of-rows-and-columns", gemm, [ones(3, TERMS), halves(TERMS, 2), ones(2)]),
    sum("Gemm", "left-transposed", { ...gemm, transA: true }, [ones(TERMS, 3), halves(TERMS, 2)]),
    sum("Gemm", "right-transposed", { ...gemm, transB: true }, [ones(3, TERMS), halves(2, TERMS)]),
    sum("Gemm", "both-transposed", { ...gemm, transA: true, transB: true }, [
      ones(TERMS, 3),
      halves(2, TERMS),
      ones(2),
    ]),
    sum("Einsum", "of-rows-and-columns", { equation: "ij,jk->ik" }, [ones(3, TERMS), halves(TERMS, 2)]),
    sum("Einsum", "batched", { equation: "bij,bkj->bik" }, [ones(2, 3, TERMS), halves(2, 2, TERMS)]),
    sum("Einsum", "of-several-operands", { equation: "ij,jk,j->ik" }, [
      ones(3, TERMS),
      ones(TERMS, 2),
      halves(TERMS),
    ]),
    sum("Einsum", "of-one-operand", { equation: "ij->i" }, [halves(3, TERMS)]),
    sum("Conv", "over-channels", image, [ones(1, TERMS, 2, 1), halves(2, TERMS, 1, 1)]),
    sum("Conv", "over-taps", image, [ones(2, 1, 50, 100), halves(2, 1, 50, 100)]),
    sum("Conv", "over-both-in-groups", { ...image, group: 2 }, [ones(1, 100, 10, 10), halves(2, 50, 10, 10)]),
    sum("ConvTranspose", "over-channels", { ...image, outputPadding: [0, 0] }, [
      ones(1, TERMS, 2, 1),
      halves(TERMS, 2, 1, 1),
    ]),
    sum("ConvWeightGradient", "along-a-line", { ...image, kernelShape: [1, 1] }, [
      ones(1, 1, 1, TERMS),
      halves(1, 1, 1, TERMS),
    ]),
    sum("ReduceSum", "of-rows", { axes: [1], keepdims: false }, [halves(2, TERMS)]),
    sum("ReduceSum", "of-columns", { axes: [0], keepdims: true }, [halves(TERMS, 2)]),
    sum("ReduceSum", "of-all-axes", { axes: [0, 1], keepdims: false }, [halves(50, 100)]),
    sum("ReduceSum", "of-outer-axes", { axes: [0, 2], keepdims: false }, [halves(50, 2, 100)]),
    sum("Softmax", "of-rows", { axis: 1 }, [halves(2, TERMS)]),
    sum("Softmax", "of-columns", { axis: 0 }, [halves(TERMS, 2)]),
    ...(["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"] as const).map((op) =>
      sum(op, "of-labels", { reduction: "sum" }, [
        generate(half, [TERMS, 2], () => -0.5),
        generate("i32", [TERMS], (at) => at % 2),
      ]),
    ),
    sum("LayerNormalization", "of-rows", { axis: 1, epsilon: 1e-5 }, [
      generate(half, [2, TERMS], (at) => 0.5 + (at % 2)),
      ones(TERMS),
    ]),
  ];
}

export const accumulationCases = (half: HalfDType): readonly ConformanceCase[] => [
  ...ADDING_OPS.map((op) => besideLarge(op, half)),
  ...halvesOf2500(half),
];
