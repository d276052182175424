import {
  type ComputeDType,
  decode,
  encodeArray,
  floatFormats,
  GraphBuilder,
  type HalfDType,
  type HostTensor,
  isFloat,
  tensor,
  ulpDistance,
  type Value,
} from "@mp/graph";
import * as probes from "@mp/graph/probe";
import { evaluate } from "@mp/graph/reference";
import type { TfjsBinding } from "../load/index.js";
import { runGraph } from "./run-graph.js";

export type Subnormals = Readonly<Record<ComputeDType, "preserve" | "flush">>;

/** Tests for each float dtype whether an addition keeps half the smallest normal number. */
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

/** Number of terms in a sum that stalls if it accumulates in f16 or bf16. */
const TERMS = 2100;

/**
 * Whether Sigmoid of any number of the half dtype differs by more than one ulp from the engine's f32 result.
 * This shows that the kernel rounds intermediate results.
 */
export async function isSigmoidRough(binding: TfjsBinding, half: HalfDType): Promise<boolean> {
  const builder = new GraphBuilder();
  const every = tensor(
    Uint16Array.from({ length: 2 ** 16 }, (_, bits) => bits),
    [2 ** 16],
    half,
  );
  const x = builder.input("x", every, "batch");
  const graph = builder.finish({ y: builder.emitOne("Sigmoid", [x], {}) });
  const [got, want] = [
    await runGraph(binding, graph, { x: every }, () => false),
    await runGraph(binding, graph, { x: every }, () => true),
  ];
  return !isNear(got["y"], want["y"]);
}

/** Whether the sum of a matrix's columns in the half dtype accumulates in f32 and rounds once. */
export async function sumsColumns(binding: TfjsBinding, half: HalfDType): Promise<boolean> {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: half, shape: [2, TERMS] }, "batch");
  const turned = builder.emitOne("Transpose", [x], { perm: [1, 0] });
  const sum = builder.emitOne("ReduceSum", [turned], { axes: [0], keepdims: false });
  const graph = builder.finish(new Map([["sum", sum]]));
  const inputs = { x: terms(half) };
  let isRight = false;
  await probes.refusalOf(async () => {
    const got = await runGraph(binding, graph, inputs, () => false);
    isRight = isNear(got["sum"], evaluate(graph, inputs)["sum"]);
  });
  return isRight;
}

/** Two rows of one large number, then many ones. */
function terms(half: HalfDType): HostTensor {
  const values = new Float32Array(2 * TERMS).fill(1);
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
