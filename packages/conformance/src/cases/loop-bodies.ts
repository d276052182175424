/** Every operator in the body of a loop, which engines compile by other code than a graph. */
import {
  type DType,
  elementCount,
  GraphBuilder,
  type HostTensor,
  OPS,
  type Op,
  opDTypes,
  type Value,
} from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { drawSome } from "../draw-some.js";
import { withoutData } from "../host-data.js";
import { type RandomSource, randomSource } from "../random-source.js";
import type { OpSample, Sampled } from "../samples/op-sample.js";
import { opRows } from "../samples/op-table.js";
import { type Fit, type GraphCheck, looped, partialCase } from "./kinds/graph-case.js";
import { sampleGraph } from "./kinds/op-cases.js";

/** Draws a few samples of an operator's first behavior and extremes: small ones, and vectors, as of far numbers. */
function drawnGraph<K extends Op>(op: K, dtype: DType, random: RandomSource): GraphCheck {
  const { samples }: { readonly samples: Sampled<K> } = opRows[op];
  const [first] = Object.keys(withoutData(() => samples({ dtype, random: randomSource(0, "") })));
  const isSmall = ({ inputs }: OpSample<K>): boolean =>
    inputs.every(({ shape }) => shape.length === 1 || elementCount(shape, "test data") <= 300);
  const drawn = [first as string, "extremes"].flatMap((only) =>
    drawSome(random, (samples({ dtype, random, only })[only] ?? []).filter(isSmall), 6),
  );
  return sampleGraph(op, drawn);
}

/** A loop with samples of all operators that the backend supports. */
function everyOperator(dtype: DType, { supports }: Fit, random: RandomSource): GraphCheck {
  const body = new GraphBuilder();
  const [checks, results] = [new Map<string, GraphCheck>(), new Map<string, Value>()];
  const inputs: Record<string, HostTensor> = {};
  for (const op of OPS.filter((each) => opDTypes[each].includes(dtype))) {
    const check = drawnGraph(op, dtype, random);
    if (!supports(check.graph)) continue;
    checks.set(op, check);
    for (const [name, tensor] of Object.entries(check.inputs)) inputs[`${op} ${name}`] = tensor;
    const operands = check.graph.inputs.map(({ name, value }) =>
      body.input(`${op} ${name}`, value, "capture"),
    );
    for (const [at, value] of body.inline(check.graph, operands).entries())
      results.set(`${op} ${check.graph.outputs[at]?.name}`, value);
  }
  return {
    graph: looped(body.finish(results)),
    inputs,
    allowance: (manifest, output) => {
      const [op = "", name = ""] = output.split(" ");
      return (checks.get(op) as GraphCheck).allowance(manifest, name);
    },
  };
}

export const loopBodyCases: readonly ConformanceCase[] = (
  ["f32", "f16", "bf16", "i32", "i64", "u8", "bool"] as const
).map((dtype) =>
  partialCase(`loop/bodies-${dtype}/of-every-operator`, {
    fits: ({ supports }) => supports(withoutData(() => drawnGraph("Scan", dtype, randomSource(0, ""))).graph),
    build: (fit, random) => [everyOperator(dtype, fit, random)],
  }),
);
