/** Indices and labels just outside each axis, at either end: the run must fail with a code. */
import type { Op } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { expectThat, fails } from "../expectations.js";
import { generate, hostData } from "../host-data.js";
import { countUp, type OpSample, sample } from "../samples/op-sample.js";
import { runGraph } from "./kinds/graph-case.js";
import { sampleGraph } from "./kinds/op-cases.js";
import { scriptedCase } from "./kinds/scripted-case.js";

const SHAPE = [2, 3, 4];
const x = () => countUp("f32", SHAPE);
const lone = (bad: number) => hostData("i32", [bad], [1, 1, 1]);
const tuple = (axis: number, bad: number) => hostData("i32", [0, 0, 0].with(axis, bad), [1, 3]);
const labels = (bad: number) => generate("i32", [2, 4], (at) => (at < 7 ? 0 : bad < 0 ? -1 : 3));

/** The operands of an op, with one bad index of an axis. */
const FORMS: Partial<Record<Op, (axis: number, bad: number) => OpSample<Op>>> = {
  Gather: (axis, bad) => sample({ axis }, x(), hostData("i32", [0, bad])),
  GatherElements: (axis, bad) => sample({ axis }, x(), lone(bad)),
  GatherND: (axis, bad) => sample({ batchDims: 0 }, x(), tuple(axis, bad)),
  ScatterElements: (axis, bad) =>
    sample({ axis, reduction: "add" }, x(), lone(bad), countUp("f32", [1, 1, 1])),
  ScatterND: (axis, bad) => sample({ reduction: "none" }, x(), tuple(axis, bad), countUp("f32", [1])),
  SoftmaxCrossEntropyLoss: (_, bad) => sample({ reduction: "mean" }, x(), labels(bad)),
  NegativeLogLikelihoodLoss: (_, bad) => sample({ reduction: "sum" }, x(), labels(bad)),
};

export const outsideCases: readonly ConformanceCase[] = Object.entries(FORMS).map(([op, form]) => {
  const checks = SHAPE.flatMap((size, axis) =>
    [size, -size - 1].map((bad) => sampleGraph(op as Op, [form(axis, bad)])),
  );
  // An engine that does not notice it may not notice others, and says so; one that does notices them all.
  const first = sampleGraph("Gather", [sample({ axis: 0 }, x(), hostData("i32", [0, 2]))]);
  const graphs = [first, ...checks].map(({ graph }) => graph);
  return scriptedCase(`op/${op}-f32/indices-outside-fail`, graphs, async (backend) => {
    if (!(await fails(runGraph(backend, first.graph, first.inputs)))) return;
    for (const { graph, inputs } of checks)
      expectThat(await fails(runGraph(backend, graph, inputs)), `${op} outside an axis succeeds`);
  });
});
