// The ways to compute a float16 product on the provider, as ONNX models that plain onnxruntime-node runs on its WebGPU device.
import { decodeArray, encodeArray, type Graph, GraphBuilder, type Value } from "@mp/core/graph";
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

type Shape = readonly number[];

class Products {
  readonly #builder = new GraphBuilder();

  /** Operands of [rows, inner] and [inner, columns]. */
  graph({ side, inner, isTransposedA, isTransposedB }: Operands, { block }: Method): Graph {
    const given = (name: string, shape: Shape): Value =>
      this.#builder.input(name, { dtype: "f16", shape }, "batch");
    const a = given("a", isTransposedA ? [inner, side] : [side, inner]);
    const b = given("b", isTransposedB ? [side, inner] : [inner, side]);
    const product =
      block === undefined || block >= inner
        ? this.#whole(a, b, { isTransposedA, isTransposedB, isWide: block === undefined })
        : this.#inBlocks(a, b, { side, block, blocks: inner / block, isTransposedA, isTransposedB });
    return this.#builder.finish({ y: product });
  }

  #whole(
    a: Value,
    b: Value,
    how: { readonly isTransposedA: boolean; readonly isTransposedB: boolean; readonly isWide: boolean },
  ): Value {
    const read = (value: Value, isTransposed: boolean): Value => {
      const wide = how.isWide ? this.#cast(value, "f32") : value;
      return isTransposed ? this.#transposed(wide, [1, 0]) : wide;
    };
    const product = this.#builder.emitOne(
      "MatMul",
      [read(a, how.isTransposedA), read(b, how.isTransposedB)],
      {},
    );
    return how.isWide ? this.#cast(product, "f16") : product;
  }

  #inBlocks(
    a: Value,
    b: Value,
    how: {
      readonly side: number;
      readonly block: number;
      readonly blocks: number;
      readonly isTransposedA: boolean;
      readonly isTransposedB: boolean;
    },
  ): Value {
    const { side, block, blocks } = how;
    const inner = [blocks, block];
    const left = how.isTransposedA
      ? this.#transposed(this.#shaped(a, [...inner, side]), [0, 2, 1])
      : this.#transposed(this.#shaped(a, [side, ...inner]), [1, 0, 2]);
    const right = how.isTransposedB
      ? this.#transposed(this.#shaped(b, [side, ...inner]), [1, 2, 0])
      : this.#shaped(b, [...inner, side]);
    const parts = this.#cast(this.#builder.emitOne("MatMul", [left, right], {}), "f32");
    return this.#cast(this.#builder.emitOne("ReduceSum", [parts], { axes: [0], keepdims: false }), "f16");
  }

  #cast = (value: Value, to: "f16" | "f32"): Value => this.#builder.emitOne("Cast", [value], { to });
  #shaped = (value: Value, shape: Shape): Value => this.#builder.emitOne("Reshape", [value], { shape });
  #transposed = (value: Value, perm: Shape): Value => this.#builder.emitOne("Transpose", [value], { perm });
}

/** The product's [rows, columns]. */
export async function multiply(operands: Operands, method: Method): Promise<Float32Array> {
  const graph = new Products().graph(operands, method);
  return run(graph, { a: operands.a, b: operands.b });
}

async function run(graph: Graph, numbers: Readonly<Record<string, Float32Array>>): Promise<Float32Array> {
  const model = writeGraph(graph, { origins: false, types: false });
  const session = await engine.InferenceSession.create(
    encodeModel({ ...model, opsets: { ...model.opsets, "": 21 } }) as Uint8Array<ArrayBuffer>,
    { executionProviders: ["webgpu"], graphOptimizationLevel: "disabled" },
  );
  try {
    const feeds = Object.fromEntries(
      graph.inputs.map(({ name, value }) => [
        name,
        new engine.Tensor("float16", encodeArray("f16", numbers[name] as Float32Array), value.shape),
      ]),
    );
    const { y } = await session.run(feeds);
    return decodeArray("f16", (await y?.getData()) as Uint16Array<ArrayBuffer>);
  } finally {
    await session.release();
  }
}
