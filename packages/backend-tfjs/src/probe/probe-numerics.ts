import {
  type ComputeDType,
  decode,
  encodeArray,
  floatFormats,
  GraphBuilder,
  type HalfDType,
  type HostTensor,
  isFloat,
  MpError,
  type Op,
  type OpAttributes,
  type Shape,
  tensor,
  ulpDistance,
  type Value,
} from "@mp/core";
import { evaluate } from "@mp/core/reference";
import type { TfjsBinding } from "../load/index.js";
import { runGraph } from "./run-graph.js";

export type Subnormals = Readonly<Record<ComputeDType, "preserve" | "flush">>;

/** Whether half the smallest normal number comes through an addition. */
export async function probeSubnormals(binding: TfjsBinding): Promise<Subnormals> {
  const formats = ["f32", "f16", "bf16"] as const;
  const builder = new GraphBuilder();
  const inputs: Record<string, HostTensor> = {};
  const results = new Map<string, Value>();
  for (const dtype of formats) {
    const half = Float32Array.of(floatFormats[dtype].minNormal / 2);
    inputs[dtype] = dtype === "f32" ? tensor(half) : tensor(encodeArray(dtype, half), [1], dtype);
    const x = builder.input(dtype, { dtype, shape: [1] }, "batch");
    results.set(dtype, builder.emitOne("Add", [x, x], {}));
  }
  const sums = await runGraph(binding, builder.finish(results), inputs, () => false);
  const entries = formats.map((dtype) => [dtype, sums[dtype]?.data[0] === 0 ? "flush" : "preserve"] as const);
  return Object.fromEntries(entries) as Subnormals;
}

/** Long enough that a half which adds up in itself stops counting, in either format. */
const TERMS = 2100;
const CHANNELS = 7;
const rows = { axes: [1], keepdims: false };

type Sums =
  | "ReduceSum"
  | "ReduceMean"
  | "ReduceL1"
  | "ReduceL2"
  | "ReduceSumSquare"
  | "ReduceLogSum"
  | "CumSum";
const attributesOf: { readonly [K in Sums]: OpAttributes[K] } = {
  ReduceSum: rows,
  ReduceMean: rows,
  ReduceL1: rows,
  ReduceL2: rows,
  ReduceSumSquare: rows,
  ReduceLogSum: rows,
  CumSum: { axis: 1, exclusive: false, reverse: false },
};

/** The ops, of those that run, which do not add up in f32 and round once, in that half. */
export async function wrongSums(
  binding: TfjsBinding,
  half: HalfDType,
  runs: (op: Op) => boolean,
): Promise<ReadonlySet<Op>> {
  const builder = new GraphBuilder();
  const type = { dtype: half, shape: [2, TERMS] } as const;
  const [x, y] = ["x", "y"].map((name) => builder.input(name, type, "batch")) as [Value, Value];
  const results = new Map<string, Value>();
  const turned = builder.emitOne("Transpose", [y], { perm: [1, 0] });
  const add = <K extends Op>(op: K, operands: readonly Value[], attributes: OpAttributes[K]): void => {
    if (runs(op)) results.set(op, builder.emitOne(op, operands, attributes));
  };
  for (const [op, attributes] of Object.entries(attributesOf)) add(op as Sums, [x], attributes as never);
  add("Gemm", [x, y], { transA: false, transB: true, alpha: 1, beta: 1 });
  add("MatMul", [x, turned], {});
  const shaped = (value: Value, shape: Shape): Value => builder.emitOne("Reshape", [value], { shape });
  // Sums over channels, over taps and over images, each of which an engine may round by itself.
  const [images, lines] = [
    [2, CHANNELS, 1, TERMS / CHANNELS],
    [CHANNELS, 2, 1, TERMS / CHANNELS],
  ];
  const window = (before: number, after: number): OpAttributes["Conv"] => ({
    strides: [1, 1],
    pads: [0, before, 0, after],
    dilations: [1, 1],
    group: 1,
  });
  const overhang = TERMS / CHANNELS - 1;
  add("Conv", [shaped(x, images), shaped(y, images)], window(0, 0));
  add("ConvTranspose", [shaped(x, images), shaped(y, lines)], {
    ...window(overhang, overhang),
    outputPadding: [0, 0],
  });
  add("ConvWeightGradient", [shaped(x, lines), shaped(y, lines)], { ...window(1, 0), kernelShape: [1, 2] });
  const graph = builder.finish(results);
  const inputs = { x: terms(half, 1), y: terms(half, 0.5) };
  const got = await runGraph(binding, graph, inputs, () => false);
  const want = evaluate(graph, inputs);
  const wrong = [...results.keys()].filter((name) => !isNear(got[name], want[name]));
  return new Set(wrong as Op[]);
}

/** Whether the columns of a matrix of that half are added up in f32 and rounded once. */
export async function sumsColumns(binding: TfjsBinding, half: HalfDType): Promise<boolean> {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: half, shape: [2, TERMS] }, "batch");
  const turned = builder.emitOne("Transpose", [x], { perm: [1, 0] });
  const sum = builder.emitOne("ReduceSum", [turned], { axes: [0], keepdims: false });
  const graph = builder.finish(new Map([["sum", sum]]));
  const inputs = { x: terms(half, 1) };
  try {
    const got = await runGraph(binding, graph, inputs, () => false);
    return isNear(got["sum"], evaluate(graph, inputs)["sum"]);
  } catch (error) {
    if (MpError.is(error) && error.code !== "MP_OUT_OF_MEMORY") return false;
    throw error;
  }
}

/** One large number, then many small ones. */
function terms(half: HalfDType, small: number): HostTensor {
  const values = new Float32Array(2 * TERMS).fill(small);
  for (const start of [0, TERMS]) values[start] = 4096;
  return tensor(encodeArray(half, values), [2, TERMS], half);
}

function isNear(got: HostTensor | undefined, want: HostTensor | undefined): boolean {
  if (got === undefined || want === undefined || !isFloat(want.dtype)) return false;
  const { dtype } = want;
  return want.data.every((bits, index) => {
    const [a, b] = [decode(dtype, Number(got.data[index])), decode(dtype, Number(bits))];
    return ulpDistance(dtype, a, b) <= 1;
  });
}
