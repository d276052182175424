// Compares the ops with onnx.reference, whose results test/fixtures/op-cases.py wrote to the fixture.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type DType, type FloatDType, type HalfDType, hostArrayOf, isFloat } from "../dtype.js";
import { roundArray, roundTo } from "../float-format/round.js";
import { ulpDistance } from "../float-format/ulp.js";
import type { Op, OpAttributes } from "../graph/attributes.js";
import { GraphBuilder } from "../graph/build/builder.js";
import type { Graph } from "../graph/graph.js";
import { inferRules, inferTypes } from "../graph/infer/infer.js";
import { arithmetics } from "./elements/arithmetic.js";
import { evaluateRaw, type RawTensor } from "./evaluate.js";
import { runKernel } from "./run-graph.js";

interface CaseTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: readonly (number | string)[];
}
interface OpCase {
  readonly name: string;
  readonly op: Op;
  readonly attributes: OpAttributes[Op];
  readonly inputs: readonly CaseTensor[];
  readonly outputs: readonly CaseTensor[];
}

const cases = JSON.parse(
  readFileSync(new URL("../../test/fixtures/op-cases.json", import.meta.url), "utf8"),
) as readonly OpCase[];

function rawOf({ dtype, shape, data }: CaseTensor): RawTensor {
  if (isFloat(dtype)) return { dtype, shape, data: Float64Array.from(data, Number) };
  if (dtype === "i64") return { dtype, shape, data: BigInt64Array.from(data, BigInt) };
  if (dtype === "u64") return { dtype, shape, data: BigUint64Array.from(data, BigInt) };
  const store = new hostArrayOf[dtype as "i32"](data.length);
  store.set(data.map(Number));
  return { dtype, shape, data: store };
}

/** The case in a half dtype, if its numbers are exact in the half dtype; otherwise undefined. */
function inHalf(entry: OpCase, half: HalfDType): OpCase | undefined {
  if (!entry.inputs.some(({ dtype }) => isFloat(dtype))) return undefined;
  const exact = entry.inputs.every(
    ({ dtype, data }) => !isFloat(dtype) || data.every((x) => Object.is(roundTo(half, Number(x)), Number(x))),
  );
  if (!exact) return undefined;
  const inputs = entry.inputs.map((input) => (isFloat(input.dtype) ? { ...input, dtype: half } : input));
  return { ...entry, inputs };
}

function graphOf({ op, attributes, inputs }: OpCase): Graph {
  const builder = new GraphBuilder();
  const operands = inputs.map((type, index) => builder.input(`x${index}`, type, "batch"));
  const outputs = builder.emit(op, operands, attributes);
  return builder.finish(Object.fromEntries(outputs.map((value, index) => [`y${index}`, value])));
}

const inputsOf = ({ inputs }: OpCase): Record<string, RawTensor> =>
  Object.fromEntries(inputs.map((input, index) => [`x${index}`, rawOf(input)]));

/** Tolerances for sums, products of many terms, and ops with several roundings; other ops are right within 1 ulp. */
const ULPS_IN_F32: Partial<Record<Op, number>> = {
  MatMul: 64,
  Gemm: 16,
  Conv: 16,
  ConvTranspose: 16,
  ReduceSum: 16,
  ReduceMean: 16,
  ReduceProd: 16,
  ReduceL1: 8,
  ReduceL2: 8,
  ReduceLogSum: 8,
  ReduceLogSumExp: 8,
  ReduceSumSquare: 8,
  Softmax: 4,
  Attention: 64,
  LogSoftmax: 16,
  SoftmaxCrossEntropyLoss: 8,
  NegativeLogLikelihoodLoss: 4,
  LayerNormalization: 64,
  RMSNormalization: 4,
  BatchNormalization: 64,
  AveragePool: 8,
};

function expectClose(got: RawTensor, want: RawTensor, closeEnough: (a: number, b: number) => boolean): void {
  expect(got.shape).toEqual(want.shape);
  if (!isFloat(want.dtype)) {
    expect(got.dtype).toBe(want.dtype);
    expect(Array.from(got.data as Iterable<unknown>)).toEqual(Array.from(want.data as Iterable<unknown>));
    return;
  }
  expect(got.data.length).toBe(want.data.length);
  for (let at = 0; at < want.data.length; at++) {
    const a = got.data[at] as number;
    const b = want.data[at] as number;
    if (!Object.is(a + 0, b + 0) && !closeEnough(a, b)) expect(a, `element ${at}`).toBe(b);
  }
}

const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-14 + 4e-14 * Math.abs(b);

describe("the reference against onnx.reference", () => {
  it("has a case for every op but those of the mp domain, Constant, and Scan, which has a graph", () => {
    const tested = new Set(cases.map(({ op }) => op));
    const missing = Object.keys(inferRules).filter((op) => !tested.has(op as Op));
    expect(missing.sort()).toEqual([
      "AttentionGradient",
      "Barrier",
      "BatchNormalizationGradient",
      "Constant",
      "ConvWeightGradient",
      "MaxPoolGradient",
      "RandomBits",
      "Scan",
    ]);
  });

  it.each(cases.map((entry) => [entry.name, entry] as const))("%s, in f64", (_, entry) => {
    const got = evaluateRaw(graphOf(entry), inputsOf(entry), { arithmetic: "f64" });
    entry.outputs.forEach((want, index) => {
      expectClose(got[`y${index}`] as RawTensor, rawOf(want), near);
    });
  });

  it.each(cases.map((entry) => [entry.name, entry] as const))("%s, in f32", (_, entry) => {
    const got = evaluateRaw(graphOf(entry), inputsOf(entry));
    const limit = ULPS_IN_F32[entry.op] ?? 1;
    entry.outputs.forEach((want, index) => {
      expectClose(
        got[`y${index}`] as RawTensor,
        rawOf(want),
        (a, b) => ulpDistance("f32", a, b) <= limit || Math.abs(a - b) < 2 ** -24,
      );
    });
  });

  it("never writes to operands", () => {
    for (const entry of cases) {
      const operands = Object.values(inputsOf(entry));
      const before = operands.map(({ data }) => data.slice());
      const { op, attributes } = entry;
      runKernel(op, operands, attributes, inferTypes(op, operands, attributes), arithmetics.f64);
      expect(
        operands.map(({ data }) => data),
        entry.name,
      ).toEqual(before);
    }
  });

  describe.each(["f16", "bf16"] as const)("in %s", (half) => {
    const exact = cases.flatMap((entry) => {
      const halved = inHalf(entry, half);
      return halved === undefined ? [] : [halved];
    });

    it("has a case for every op on floats", () => {
      const tested = new Set(exact.map(({ op }) => op));
      const onFloats = new Set(
        cases.filter((entry) => isFloat(entry.inputs[0]?.dtype ?? "i32")).map(({ op }) => op),
      );
      expect([...onFloats].filter((op) => !tested.has(op))).toEqual([]);
    });

    it.each(exact.map((entry) => [entry.name, entry] as const))("%s", (_, entry) => {
      const graph = graphOf(entry);
      const got = evaluateRaw(graph, inputsOf(entry));
      entry.outputs.forEach((want, index) => {
        const result = got[`y${index}`] as RawTensor;
        // Intermediates are f32: errors of a few f32 ulps move the rounded result by at most one f16 or bf16 value.
        const limit = result.dtype === half ? 1 : (ULPS_IN_F32[entry.op] ?? 1);
        if (isFloat(result.dtype))
          expect(roundArray(result.dtype, result.data.slice() as Float32Array)).toEqual(result.data);
        expectClose(result, rawOf(want), (a, b) => {
          const inResult = isFloat(result.dtype) ? roundTo(result.dtype, b) : b;
          return ulpDistance(result.dtype as FloatDType, a, inResult) <= limit || Math.abs(a - b) < 2 ** -22;
        });
      });
    });
  });
});
