import {
  type AnyNode,
  type DType,
  type Graph,
  type HostTensor,
  isFloat,
  MpError,
  type Op,
  opDTypes,
  printGraph,
} from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { opGraphs } from "../test/op-graphs.js";
import { decodeModel } from "./decode.js";
import { encodeModel } from "./encode.js";
import { readGraph } from "./read/read.js";
import { type WriteOptions, writeGraph } from "./write/write.js";

const throughFile = (graph: Graph, options?: WriteOptions): Graph =>
  readGraph(decodeModel(encodeModel(writeGraph(graph, options)))).graph;

const eighths: readonly DType[] = ["f8e4m3", "f8e5m2"];

/** Ops without an ONNX node, which are read back as nodes with the same effect. */
const adapted: Readonly<Partial<Record<Op, readonly DType[]>>> = {
  ReduceSum: ["u8"],
  ReduceProd: ["u8"],
  TopK: ["bf16"],
  Slice: eighths,
  Concat: eighths,
  Split: eighths,
  Gather: eighths,
  GatherElements: eighths,
  GatherND: eighths,
  ScatterElements: eighths,
  ScatterND: eighths,
  Expand: eighths,
  Tile: eighths,
  Where: eighths,
};

/** Whether the dtype is an integer type that can represent the bound. */
const holds = (dtype: DType, bound: number | undefined): boolean =>
  bound === undefined || (Number.isInteger(bound) && (bound >= 0 || dtype.startsWith("i")));

/** Whether a node is a reduction over no axes, which is written as its effect on a single element. */
const isOverNone = ({ op, attributes, inputs }: AnyNode): boolean =>
  op.startsWith("Reduce") &&
  "axes" in attributes &&
  attributes.axes.length === 0 &&
  (inputs[0]?.shape.length ?? 0) > 0;

function comesBackOtherwise(node: AnyNode, dtype: DType): boolean {
  if (adapted[node.op]?.includes(dtype) === true || isOverNone(node)) return true;
  switch (node.op) {
    case "RandomBits":
    case "AttentionGradient":
    case "ConvWeightGradient":
    case "Barrier":
    case "BatchNormalization":
    case "BatchNormalizationGradient":
      return true;
    case "OneHot":
      return node.attributes.dtype === "bf16" || node.attributes.dtype === "i32";
    case "Range":
      return (
        !["f32", "i32", "i64"].includes(node.attributes.dtype) || !Number.isInteger(node.attributes.delta)
      );
    case "Pad":
      // Only constant padding has a value in a file.
      return node.attributes.mode !== "constant" && node.attributes.value !== 0;
    case "Clip":
      return !isFloat(dtype) && !(holds(dtype, node.attributes.min) && holds(dtype, node.attributes.max));
    default:
      return false;
  }
}

/** Ops that are decomposed unless they are kept. */
const DECOMPOSED: ReadonlySet<Op> = new Set<Op>([
  "RandomBits",
  "AttentionGradient",
  "ConvWeightGradient",
  "BatchNormalization",
  "BatchNormalizationGradient",
  "MaxPoolGradient",
  "Barrier",
]);

/** Compares with a tolerance, because decomposed ops add and round in another order. */
function expectNear(
  got: Readonly<Record<string, HostTensor>>,
  want: Readonly<Record<string, HostTensor>>,
): void {
  expect(Object.keys(got)).toEqual(Object.keys(want));
  for (const [name, { data, shape }] of Object.entries(want)) {
    expect(got[name]?.shape).toEqual(shape);
    for (const [at, x] of data.entries()) expect(Number(got[name]?.data[at])).toBeCloseTo(Number(x), 5);
  }
}

const cases = opGraphs();

describe("a graph written as ONNX and read back", () => {
  it("is tried with every op in every dtype it takes", () => {
    for (const op of Object.keys(opDTypes) as Op[]) {
      const seen = new Set(cases.filter((entry) => entry.op === op).map(({ dtype }) => dtype));
      const expected = op === "Barrier" || op === "Range" ? seen : new Set(opDTypes[op]);
      expect([op, [...seen].sort()]).toEqual([op, [...expected].sort()]);
    }
    expect(cases.length).toBeGreaterThan(1000);
  });

  it.each(cases.map((entry) => [entry.name, entry] as const))("%s", (_, { graph, op, dtype, inputs }) => {
    if (op === "MaxPoolGradient") {
      // It is composed with the indices of ONNX's MaxPool, which the graph does not have.
      expect(() => throughFile(graph)).toThrow(/has output 1/);
      expect(printGraph(throughFile(graph, { ownOps: "keep" }))).toBe(printGraph(graph));
      return;
    }
    const back = throughFile(graph);
    const [node] = graph.nodes;
    if (node === undefined) throw new Error("a graph of one node");
    if (comesBackOtherwise(node, dtype)) expect(printGraph(back)).not.toBe(printGraph(graph));
    else expect(printGraph(back)).toBe(printGraph(graph));
    const attempt = (which: Graph): unknown => {
      try {
        return evaluate(which, inputs);
      } catch (error) {
        return MpError.is(error) ? error.code : error;
      }
    };
    if (op === "BatchNormalization" && dtype === "f32")
      expectNear(evaluate(back, inputs), evaluate(graph, inputs));
    else expect(attempt(back)).toEqual(attempt(graph));
    if (DECOMPOSED.has(op) || (isOverNone(node) && dtype !== "u8")) {
      expect(printGraph(throughFile(graph, { ownOps: "keep" }))).toBe(printGraph(graph));
    }
  });
});
