import { floatFormats, GraphBuilder, type HalfDType, type Value } from "@mp/graph";
import { refusalOf } from "@mp/graph/probe";
import { encodeModel, writeGraph } from "@mp/onnx/write";
import { HALVES } from "../dtype.js";
import type { ProbedEngine } from "./engine.js";

/** Finds the half dtypes in which the engine itself computes, that is, to which it rounds after every operator. */
export async function nativeHalves(engine: ProbedEngine): Promise<readonly HalfDType[]> {
  const native: HalfDType[] = [];
  for (const half of HALVES) if (await isNative(engine, half)) native.push(half);
  return native;
}

async function isNative(engine: ProbedEngine, half: HalfDType): Promise<boolean> {
  const graph = roundingGraph(half);
  const model = encodeModel(writeGraph(graph, { origins: false, types: false }));
  const outputs = new Map(graph.outputs.map(({ name, value }) => [name, value]));
  let isRounded = false;
  await refusalOf(async () => {
    const results = await engine.runModel(model, new Map(), outputs);
    isRounded = [...results.values()].every(({ data }) => data[0] === 0);
  });
  return isRounded;
}

/** Builds differences that are 0 if the first result is rounded to the half dtype, and nonzero if it stays in f32. */
function roundingGraph(half: HalfDType): ReturnType<GraphBuilder["finish"]> {
  const builder = new GraphBuilder();
  const { fractionBits } = floatFormats[half];
  const number = (value: number): Value => builder.literal(value, half);
  const difference = (rounded: Value, expected: number): Value => {
    const rest = builder.emitOne("Sub", [rounded, number(expected)], {});
    return builder.emitOne("Cast", [builder.emitOne("Reshape", [rest], { shape: [] })], { to: "f32" });
  };
  // 1 is half the spacing above `large`: the sum is a tie and rounds back to even.
  const large = 2 ** (fractionBits + 1);
  const step = 2 ** -fractionBits;
  const pair = builder.emitOne(
    "Concat",
    [large, 1].map((value) => builder.emitOne("Reshape", [number(value)], { shape: [1, 1] })),
    { axis: 1 },
  );
  const ones = builder.emitOne("Expand", [number(1)], { shape: [2, 1] });
  const square = builder.emitOne("Mul", [number(1 + step), number(1 + step)], {});
  return builder.finish({
    sum: difference(builder.emitOne("Add", [number(large), number(1)], {}), large),
    product: difference(square, 1 + 2 * step),
    matrix: difference(builder.emitOne("MatMul", [pair, ones], {}), large),
    reduced: difference(builder.emitOne("ReduceSum", [pair], { axes: [0, 1], keepdims: false }), large),
  });
}
