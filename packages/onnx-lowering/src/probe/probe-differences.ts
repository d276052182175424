import { type DType, full, type HalfDType, type HostTensor, MpError, tensor } from "@mp/core";
import { FAMILIES, type Graph, GraphBuilder, type Op, opDTypes, type Value } from "@mp/core/graph";
import * as probes from "@mp/core/probe";
import { encodeModel, onnxGraph, onnxModel, onnxNode } from "@mp/onnx/write";
import type { Differences, Target } from "../lowerings/target.js";
import type { ProbedEngine } from "./engine.js";
import { runGraph } from "./run-graph.js";

const TYPE = { dtype: "f32", shape: [1] } as const;

/** Whether it takes nodes in any order, as ONNX Runtime does. Some do unless a node reads a result. */
async function takesAnyOrder(engine: ProbedEngine): Promise<boolean> {
  const results = ["y", "z"];
  const graph = onnxGraph("order", {
    nodes: [onnxNode("Neg", ["y"], ["z"]), onnxNode("Neg", ["x"], ["y"])],
    initializers: [{ name: "x", tensor: tensor(Float32Array.of(1), [1]) }],
    outputs: results.map((name) => ({ name, type: { elementType: "f32", shape: [1] }, metadata: {} })),
  });
  const model = encodeModel(onnxModel(graph, { opsets: { "": 21 } }));
  try {
    await engine.runModel(model, new Map(), new Map(results.map((name) => [name, TYPE])));
    return true;
  } catch (error) {
    if (MpError.is(error) && error.code !== "MP_OUT_OF_MEMORY") return false;
    throw error;
  }
}

/** Finds what the engine does otherwise than ONNX Runtime; undefined for a build of that. */
export async function differencesOf(
  engine: ProbedEngine,
  emulated: readonly HalfDType[],
): Promise<Differences | undefined> {
  if (engine.device !== "cpu" || (await takesAnyOrder(engine))) return undefined;
  const none: Differences = { losesNaN: new Set(), hasShortIntegers: false, unrounded: [], refused: [] };
  const run: Run = (graph, inputs) => {
    const target: Target = {
      ...{ device: engine.device, emulated, differences: none },
      ...{ widened: new Set(), blockSize: undefined, castsThroughDoubles: false },
    };
    return runGraph(engine, graph, target, inputs);
  };
  return {
    losesNaN: await losesNaN(run),
    hasShortIntegers: await hasShortIntegers(run),
    unrounded: await roundedWrongly(run, emulated),
    refused: await roundedWrongly(run, ["f8e4m3", "f8e5m2"]),
  };
}

type Tensors = Readonly<Record<string, HostTensor>>;
type Run = (graph: Graph, inputs: Tensors) => Promise<Tensors>;

/** Ops that are NaN of NaN, if their result is a float. */
const OF_ONE: readonly Op[] = FAMILIES.unary.filter(
  (op) => op !== "Cast" && (opDTypes[op] as readonly DType[]).includes("f32"),
);

async function losesNaN(run: Run): Promise<ReadonlySet<Op>> {
  const builder = new GraphBuilder();
  const inputs: Record<string, HostTensor> = {};
  const results: Record<string, Value> = {};
  // Fed, since constants may be folded by other code.
  const fed = (shape: readonly number[], value: number): Value => {
    const name = `x${Object.keys(inputs).length}`;
    inputs[name] = full(shape, value, "f32");
    return builder.input(name, { dtype: "f32", shape: [...shape] }, "batch");
  };
  probes.emitPairs(
    builder,
    OF_ONE.map((op) => ({ op, dtype: "f32" })),
    (shape) => fed(shape, Number.NaN),
    ({ op }, [value]) => {
      if (value?.dtype === "f32") results[op] = value;
    },
  );
  for (const op of ["Min", "Max"] as const)
    for (const [at, pair] of [
      [Number.NaN, 1],
      [1, Number.NaN],
    ].entries())
      results[`${op} ${at}`] = builder.emitOne(
        op,
        pair.map((value) => fed([8], value)) as [Value, Value],
        {},
      );
  const oneOfMany = builder.input("row", { dtype: "f32", shape: [1, 8] }, "batch");
  inputs["row"] = tensor(Float32Array.of(0, Number.NaN, 0, 0, 0, 0, 0, 0), [1, 8]);
  for (const op of ["Softmax", "LogSoftmax"] as const)
    results[op] = builder.emitOne(op, [oneOfMany], { axis: 1 });
  const found = await run(builder.finish(results), inputs);
  const lost = Object.entries(found).filter(
    ([, { data }]) => !Array.from(data as Float32Array).every(Number.isNaN),
  );
  return new Set(lost.map(([name]) => name.split(" ")[0] as Op));
}

async function hasShortIntegers(run: Run): Promise<boolean> {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "i64", shape: [1] }, "batch");
  const graph = builder.finish({ y: builder.emitOne("Mul", [x, x], {}) });
  const { y } = await run(graph, { x: tensor(BigInt64Array.of(3_000_000_000n), [1]) });
  return y?.data[0] !== 9_000_000_000_000_000_000n;
}

/** Numbers that are just above a tie between two numbers of the dtype, and what they round to. */
const TIES: Readonly<Record<HalfDType | "f8e4m3" | "f8e5m2", readonly [number, number]>> = {
  f16: [1 + 2 ** -11 + 2 ** -20, 1 + 2 ** -10],
  bf16: [1 + 2 ** -8 + 2 ** -20, 1 + 2 ** -7],
  f8e4m3: [1 + 2 ** -4 + 2 ** -20, 1 + 2 ** -3],
  f8e5m2: [1 + 2 ** -3 + 2 ** -20, 1 + 2 ** -2],
};

/** The dtypes among those to which a cast and back does not round. */
async function roundedWrongly<D extends keyof typeof TIES>(
  run: Run,
  dtypes: readonly D[],
): Promise<readonly D[]> {
  const found: D[] = [];
  for (const to of dtypes) {
    const builder = new GraphBuilder();
    const x = builder.input("x", { dtype: "f32", shape: [16] }, "batch");
    const narrow = builder.emitOne("Cast", [x], { to });
    const graph = builder.finish({ y: builder.emitOne("Cast", [narrow], { to: "f32" }) });
    const [given, wanted] = TIES[to];
    const { y } = await run(graph, { x: full([16], given, "f32") });
    if (!Array.from(y?.data as Float32Array).every((value) => value === wanted)) found.push(to);
  }
  return found;
}
