// The ways to compute a float16 product on the provider, as ONNX models that plain onnxruntime-node runs on its WebGPU device.
import type { Tensor } from "@mp/core";
import { decodeArray, encodeArray, traceInto } from "@mp/core/graph";
import { cast, matMul, reduceSum, reshape, transpose } from "@mp/core/ops";
import { encodeModel, writeGraph } from "@mp/onnx/write";
import * as engine from "onnxruntime-node";
import type { Operands } from "./operands.js";

export interface Method {
  readonly name: string;
  /**
   * Length of each block of the inner dimension, computed as one product in float16; undefined: one product in float32.
   */
  readonly block: number | undefined;
}

export const BLOCKS: readonly number[] = [8, 16, 32, 64, 128];

export const METHODS: readonly Method[] = [
  { name: "in f32", block: undefined },
  { name: "in f16", block: Number.POSITIVE_INFINITY },
  ...BLOCKS.map((block) => ({ name: `blocks of ${block}`, block })),
];

/** One product, in float32 or in float16. */
function multiplyWhole(a: Tensor, b: Tensor, { isTransposedA, isTransposedB }: Operands, isWide: boolean) {
  const read = (stored: Tensor, isTransposed: boolean): Tensor => {
    const wide = isWide ? cast(stored, "f32") : stored;
    return isTransposed ? transpose(wide, [1, 0]) : wide;
  };
  const product = matMul(read(a, isTransposedA), read(b, isTransposedB));
  return isWide ? cast(product, "f16") : product;
}

/** Multiplies each block in float16, and sums the products in float32. */
function multiplyInBlocks(a: Tensor, b: Tensor, operands: Operands, block: number): Tensor {
  const { side, inner, isTransposedA, isTransposedB } = operands;
  const blocks = [inner / block, block];
  const left = isTransposedA
    ? transpose(reshape(a, [...blocks, side]), [0, 2, 1])
    : transpose(reshape(a, [side, ...blocks]), [1, 0, 2]);
  const right = isTransposedB
    ? transpose(reshape(b, [side, ...blocks]), [1, 2, 0])
    : reshape(b, [...blocks, side]);
  return cast(reduceSum(cast(matMul(left, right), "f32"), { axes: [0] }), "f16");
}

/** The elements of the product [rows, columns]. */
export async function multiply(operands: Operands, { block }: Method): Promise<Float32Array> {
  const { side, inner, isTransposedA, isTransposedB } = operands;
  const input = (name: "a" | "b", shape: readonly number[]) =>
    ({ name, role: "batch", type: { dtype: "f16", shape } }) as const;
  const inputs = [
    input("a", isTransposedA ? [inner, side] : [side, inner]),
    input("b", isTransposedB ? [side, inner] : [inner, side]),
  ];
  const { graph } = traceInto(inputs, ([a, b]) => ({
    y:
      block === undefined || block >= inner
        ? multiplyWhole(a as Tensor, b as Tensor, operands, block === undefined)
        : multiplyInBlocks(a as Tensor, b as Tensor, operands, block),
  }));
  const model = writeGraph(graph, { origins: false, types: false });
  const session = await engine.InferenceSession.create(
    encodeModel({ ...model, opsets: { ...model.opsets, "": 21 } }) as Uint8Array<ArrayBuffer>,
    { executionProviders: ["webgpu"], graphOptimizationLevel: "disabled" },
  );
  const feeds = inputs.map(({ name, type }) => {
    const halves = encodeArray("f16", operands[name]);
    return [name, new engine.Tensor("float16", halves, type.shape)] as const;
  });
  try {
    const { y } = await session.run(Object.fromEntries(feeds));
    return decodeArray("f16", (await y?.getData()) as Uint16Array<ArrayBuffer>);
  } finally {
    await session.release();
  }
}
