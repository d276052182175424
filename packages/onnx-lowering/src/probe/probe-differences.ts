import {
  type DType,
  FAMILIES,
  full,
  type Graph,
  GraphBuilder,
  type HalfDType,
  type HostTensor,
  type Op,
  opDTypes,
  tensor,
  type Value,
} from "@mp/graph";
import { pairKey } from "@mp/graph/backend";
import * as probes from "@mp/graph/probe";
import { evaluate } from "@mp/graph/reference";
import { FORMED_OPS } from "../differences/float-forms.js";
import { emulatedHalves, HALVES } from "../dtype.js";
import type { Differences, Target } from "../lowerings/target.js";
import type { ProbedEngine } from "./engine.js";
import { probeGraph } from "./probe-graph.js";
import { runGraph, type Tensors } from "./run-graph.js";

/** Finds how an engine differs from ONNX Runtime. */
export async function findDifferences(
  engine: ProbedEngine,
  native: readonly HalfDType[],
): Promise<Differences> {
  const none: Differences = {
    differing: new Set(),
    inexact: new Map(),
    fusesProducts: false,
    hasShortIntegers: false,
    unrounded: [],
    flushed: [],
  };
  const target: Target = {
    device: engine.device,
    emulated: emulatedHalves(native),
    widened: new Set(),
    blockSize: undefined,
    castsThroughDoubles: false,
    differences: none,
  };
  const run: Run = (graph, inputs) => runGraph(engine, graph, target, inputs);
  return {
    differing: new Set([...(await differingOps(run)), ...(await changingOthers(run))]),
    inexact: await inexactOps(run),
    fusesProducts: await fusesProducts(run),
    hasShortIntegers: await hasShortIntegers(run),
    unrounded: await castWrongly(run, HALVES, TIES),
    flushed: await castWrongly(run, native, SUBNORMALS),
  };
}

type Run = (graph: Graph, inputs: Tensors) => Promise<Tensors>;
type Emit = (builder: GraphBuilder, ...inputs: Value[]) => Value;

/** A graph with these inputs and one result. */
function graphOn(inputs: Tensors, emit: Emit): Graph {
  const builder = new GraphBuilder();
  const values = Object.entries(inputs).map(([name, { dtype, shape }]) =>
    builder.input(name, { dtype, shape }, "batch"),
  );
  return builder.finish({ result: emit(builder, ...values) });
}

/** Computes the result for these inputs. @returns its elements */
async function compute(run: Run, inputs: Tensors, emit: Emit): Promise<HostTensor["data"]> {
  const { result } = await run(graphOn(inputs, emit), inputs);
  return (result as HostTensor).data;
}

const floats = (numbers: readonly number[], shape: readonly number[] = [numbers.length]): HostTensor =>
  tensor(Float32Array.from(numbers), [...shape]);

const { NaN: nan, POSITIVE_INFINITY: infinity } = Number;
const SPECIAL = [0, -0, 1.5, -2, 3e-4, -3e-4, -9, 1e-40, -95, 3e38, infinity, -infinity, nan, 0.1];
const REDUCED = [infinity, -infinity, nan, 1];

/** All lists of `count` elements of `numbers`: every order, with repetitions. */
const combinations = (numbers: readonly number[], count: number): readonly (readonly number[])[] =>
  count === 0
    ? [[]]
    : combinations(numbers, count - 1).flatMap((some) => numbers.map((number) => [...some, number]));

/**
 * Finds float ops whose results for special values differ from the reference. For ops that have no
 * replacement (not in `FORMED_OPS`), only a lost NaN counts.
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
    if (op === "Constant" || outputs[0] === undefined) continue;
    if (op === "LeakyRelu") results.set("LeakyRelu", builder.emitOne(op, [x], { alpha: -0.5 }));
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

/** A graph that shows whether the engine computes an op correctly; if not, the manifest gets `reason`. */
interface Trial {
  readonly op: Op;
  readonly dtypes: readonly DType[];
  readonly reason: string;
  readonly inputs: Tensors;
  readonly emit: Emit;
}

const COMPUTED: readonly DType[] = ["f32", "f16", "bf16"];

/** A loop body that returns the element of the sequence from two steps before. */
function delaying(): Graph {
  const builder = new GraphBuilder();
  const [before, last, now] = ["before", "last", "now"].map((name) =>
    builder.input(name, { dtype: "f32", shape: [1] }, "capture"),
  ) as [Value, Value, Value];
  return builder.finish({ before: last, last: now, result: before });
}

const TRIALS: readonly Trial[] = [
  {
    op: "Mod",
    dtypes: COMPUTED,
    reason: "the engine rounds remainders of floats",
    inputs: { x: floats([1000]), y: floats([0.1]) },
    emit: (builder, x, y) => builder.emitOne("Mod", [x, y], { fmod: true }),
  },
  {
    op: "Attention",
    dtypes: COMPUTED,
    reason: "the engine gives NaN for a query that attends to nothing",
    inputs: { x: full([1, 1, 1, 1], 1, "f32"), mask: full([1, 1], 0, "bool") },
    emit: (builder, x, mask) =>
      builder.emitOne("Attention", [x, x, x, mask], { scale: 1, isCausal: false, softcap: 0 }),
  },
  {
    op: "Scan",
    dtypes: opDTypes.Scan,
    reason: "the engine overwrites what a loop's body still reads: unroll the loop, as a trainer does",
    inputs: { before: floats([1]), last: floats([2]), sequence: floats([3, 4, 5], [3, 1]) },
    emit: (builder, ...inputs) => {
      const attributes = { body: delaying(), carries: 2, sequences: 1, length: 3, reverse: false, saved: 0 };
      return builder.emit("Scan", inputs, attributes)[2] as Value;
    },
  },
];

/** Finds ops that the engine computes wrongly in every form. @returns reasons to refuse, by `pairKey` */
async function inexactOps(run: Run): Promise<Differences["inexact"]> {
  const found = new Map<string, string>();
  for (const { op, dtypes, reason, inputs, emit } of TRIALS) {
    const graph = graphOn(inputs, emit);
    const wanted = evaluate(graph, inputs)["result"]?.data as Float32Array;
    const refusal = await probes.refusalOf(async () => {
      const { result } = await run(graph, inputs);
      const isRight = wanted.every((number, at) => number === result?.data[at]);
      if (!isRight) for (const dtype of dtypes) found.set(pairKey({ op, dtype }), reason);
    });
    if (refusal !== undefined) for (const dtype of dtypes) found.set(pairKey({ op, dtype }), refusal);
  }
  return found;
}

/** Finds whether Abs changes a Concat that other nodes read too, and whether IsInf is wrong after an Abs. */
async function changingOthers(run: Run): Promise<readonly Op[]> {
  const inputs = { x: full([4], Number.NEGATIVE_INFINITY, "f32") };
  const [sum] = await compute(run, inputs, (builder, x) => {
    const both = builder.emitOne("Concat", [x, x], { axis: 0 });
    return builder.emitOne("Add", [builder.emitOne("Abs", [both], {}), both], {});
  });
  const [isInfinite] = await compute(run, inputs, (builder, x) => {
    const size = builder.emitOne("Abs", [builder.emitOne("Add", [x, x], {})], {});
    return builder.emitOne("IsInf", [size], {});
  });
  return [...(Number.isNaN(sum) ? [] : ["Abs" as const]), ...(isInfinite === 1 ? [] : ["IsInf" as const])];
}

function agrees(got: number | undefined, want: number): boolean {
  if (got === undefined || !Number.isFinite(want) || want === 0) return Object.is(got, want);
  return Math.abs(got - want) <= Math.abs(want) * 2 ** -18 + 2 ** -147;
}

async function fusesProducts(run: Run): Promise<boolean> {
  // The square is halfway between two numbers, and rounds to -y.
  const [root, square] = [1 + 2 ** -12, 1 + 2 ** -11];
  const inputs = { x: full([16], root, "f32"), y: full([16], -square, "f32") };
  const [sum] = await compute(run, inputs, (builder, x, y) =>
    builder.emitOne("Add", [builder.emitOne("Mul", [x, x], {}), y], {}),
  );
  return sum !== 0;
}

async function hasShortIntegers(run: Run): Promise<boolean> {
  const inputs = { x: tensor(BigInt64Array.of(3_000_000_000n), [1]) };
  const [square] = await compute(run, inputs, (builder, x) => builder.emitOne("Mul", [x, x], {}));
  return square !== 9_000_000_000_000_000_000n;
}

/** An f32 number just above a tie of each dtype, and the value to which it must be rounded. */
const TIES: Readonly<Record<HalfDType, readonly [number, number]>> = {
  f16: [1 + 2 ** -11 + 2 ** -20, 1 + 2 ** -10],
  bf16: [1 + 2 ** -8 + 2 ** -20, 1 + 2 ** -7],
};

const SUBNORMALS: Readonly<Record<HalfDType, readonly [number, number]>> = {
  f16: [2 ** -15, 2 ** -15],
  bf16: [2 ** -127, 2 ** -127],
};

/** Finds dtypes for which a cast from f32 and back gives a wrong number. A missing cast does not count. */
async function castWrongly(
  run: Run,
  dtypes: readonly HalfDType[],
  numbers: typeof TIES,
): Promise<readonly HalfDType[]> {
  const found: HalfDType[] = [];
  for (const to of dtypes) {
    const [given, wanted] = numbers[to];
    // The engine refuses a cast without a kernel; missing kernels are probed later.
    await probes.refusalOf(async () => {
      const data = await compute(run, { x: full([16], given, "f32") }, (builder, x) =>
        builder.emitOne("Cast", [builder.emitOne("Cast", [x], { to })], { to: "f32" }),
      );
      if (!Array.from(data as Float32Array).every((value) => value === wanted)) found.push(to);
    });
  }
  return found;
}
