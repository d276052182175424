import { type DType, full, type HalfDType, type HostTensor, MpError, tensor } from "@mp/core";
import { FAMILIES, type Graph, GraphBuilder, type Op, opDTypes, type Value } from "@mp/core/graph";
import { evaluate } from "@mp/core/reference";
import { encodeModel, onnxGraph, onnxModel, onnxNode } from "@mp/onnx/write";
import { FORMED_OPS } from "../differences/float-forms.js";
import type { Differences, Target } from "../lowerings/target.js";
import type { ProbedEngine } from "./engine.js";
import { probeGraph } from "./probe-graph.js";
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
  const none: Differences = {
    differing: new Set(),
    inexact: new Map(),
    hasShortIntegers: false,
    unrounded: [],
    refused: [],
  };
  const run: Run = (graph, inputs) => {
    const target: Target = {
      ...{ device: engine.device, emulated, differences: none },
      ...{ widened: new Set(), blockSize: undefined, castsThroughDoubles: false },
    };
    return runGraph(engine, graph, target, inputs);
  };
  return {
    differing: new Set([...(await differingOps(run)), ...(await changingOthers(run))]),
    inexact: await inexactOps(run),
    hasShortIntegers: await hasShortIntegers(run),
    unrounded: await roundedWrongly(run, emulated),
    refused: await roundedWrongly(run, ["f8e4m3", "f8e5m2"]),
  };
}

type Tensors = Readonly<Record<string, HostTensor>>;
type Run = (graph: Graph, inputs: Tensors) => Promise<Tensors>;

const { NaN: nan, POSITIVE_INFINITY: infinity } = Number;
const SPECIAL = [0, -0, 1.5, -2, 3e-4, -3e-4, -9, 1e-40, -95, 3e38, infinity, -infinity, nan, 0.1];
const REDUCED = [infinity, -infinity, nan, 1];

/** All pairs of numbers, or rows of three. */
const combinations = (numbers: readonly number[], count: number): readonly (readonly number[])[] =>
  count === 0
    ? [[]]
    : combinations(numbers, count - 1).flatMap((some) => numbers.map((number) => [...some, number]));

/**
 * Ops on floats that give another result than the reference on any pair of special numbers, or row of them: those
 * that have another form, and those that lose NaN.
 */
async function differingOps(run: Run): Promise<ReadonlySet<Op>> {
  const pairs = combinations(SPECIAL, 2);
  const rows = combinations(REDUCED, 3);
  const inputs: Tensors = {
    x: floats(pairs.map(([x = 0]) => x)),
    y: floats(pairs.map(([, y = 0]) => y)),
    rows: floats(rows.flat(), [rows.length, 3]),
  };
  const builder = new GraphBuilder();
  const [x, y, row] = Object.entries(inputs).map(([name, { shape }]) =>
    builder.input(name, { dtype: "f32", shape }, "batch"),
  ) as [Value, Value, Value];
  const results = new Map<string, Value>();
  const template = probeGraph(
    [...FORMED_OPS, ...FAMILIES.unary]
      .filter((op) => op !== "Cast" && (opDTypes[op] as readonly DType[]).includes("f32"))
      .map((op) => ({ op, dtype: "f32" })),
  );
  for (const { op, attributes, inputs: operands, outputs } of template.nodes) {
    if (op === "Constant" || outputs[0]?.dtype !== "f32") continue;
    const given = "axes" in attributes || "axis" in attributes ? [row] : [x, y].slice(0, operands.length);
    results.set(`${op} ${results.size}`, builder.emit(op, given, attributes)[0] as Value);
  }
  const graph = builder.finish(results);
  const wanted = evaluate(graph, inputs);
  const found = await run(graph, inputs);
  const formed = new Set<string>(FORMED_OPS);
  const differs = (name: string, op: string): boolean => {
    const [got, want] = [found[name], wanted[name]].map((one) => Array.from(one?.data as Float32Array));
    return (want ?? []).some((number, at) =>
      formed.has(op) ? !agrees(got?.[at], number) : Number.isNaN(number) && !Number.isNaN(got?.[at]),
    );
  };
  const names = [...results.keys()].map((name) => [name, name.split(" ")[0] as Op] as const);
  return new Set(names.filter(([name, op]) => differs(name, op)).map(([, op]) => op));
}

/** Abs, if it changes a Concat that others read too. */
async function changingOthers(run: Run): Promise<readonly Op[]> {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "f32", shape: [4] }, "batch");
  const both = builder.emitOne("Concat", [x, x], { axis: 0 });
  const graph = builder.finish({
    sizes: builder.emitOne("Abs", [both], {}),
    sums: builder.emitOne("Add", [both, both], {}),
  });
  const { sums } = await run(graph, { x: full([4], -1, "f32") });
  return Array.from(sums?.data as Float32Array).every((sum) => sum === -2) ? [] : ["Abs"];
}

const floats = (numbers: readonly number[], shape: readonly number[] = [numbers.length]): HostTensor =>
  tensor(Float32Array.from(numbers), [...shape]);

function agrees(got: number | undefined, want: number): boolean {
  if (got === undefined || !Number.isFinite(want) || want === 0) return Object.is(got, want);
  return Math.abs(got - want) <= Math.abs(want) * 2 ** -18 + 2 ** -147;
}

/** Ops without a form that is right, and what their kernels do. */
async function inexactOps(run: Run): Promise<Differences["inexact"]> {
  const builder = new GraphBuilder();
  const [dividend, divisor] = ["dividend", "divisor"].map((name) =>
    builder.input(name, { dtype: "f32", shape: [1] }, "batch"),
  ) as [Value, Value];
  const query = builder.input("query", { dtype: "f32", shape: [1, 1, 1, 1] }, "batch");
  const mask = builder.input("mask", { dtype: "bool", shape: [1, 1] }, "batch");
  const graph = builder.finish({
    Mod: builder.emitOne("Mod", [dividend, divisor], { fmod: true }),
    Attention: builder.emitOne("Attention", [query, query, query, mask], {
      ...{ scale: 1, isCausal: false, softcap: 0 },
    }),
  });
  const inputs = {
    dividend: floats([1000]),
    divisor: floats([0.1]),
    query: full([1, 1, 1, 1], 1, "f32"),
    mask: full([1, 1], 0, "bool"),
  };
  const wanted = evaluate(graph, inputs);
  const found = await run(graph, inputs);
  const problems = {
    Mod: "the engine's remainder of floats is rounded",
    Attention: "the engine gives NaN for a query that attends to nothing",
  } as const;
  const wrong = (["Mod", "Attention"] as const).filter((op) => found[op]?.data[0] !== wanted[op]?.data[0]);
  return new Map(wrong.map((op) => [op, problems[op]]));
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
