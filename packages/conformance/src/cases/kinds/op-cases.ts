/**
 * One case for each op, dtype and behavior of the sample tables. Each compares many nodes in one graph with the
 * oracle.
 */

import {
  type BackendManifest,
  type DType,
  formatShape,
  formatType,
  GraphBuilder,
  type HostTensor,
  isHostTensor,
  type Op,
  opDTypes,
  type Value,
} from "@mp/graph";
import { type Allowance, manifestAllowance } from "../../compare/allowance.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { withoutData } from "../../host-data.js";
import { type RandomSource, randomSource } from "../../random-source.js";
import { canLayOut, layOut } from "../../samples/layouts.js";
import type { Behaviours, OpSample, Sampled } from "../../samples/op-sample.js";
import { opRows } from "../../samples/op-table.js";
import { type GraphCheck, graphCase } from "./graph-case.js";

/** Adds an input for an operand, and the nodes between it and the op. Returns the operand and the input's value. */
type Feed = (builder: GraphBuilder, name: string, tensor: HostTensor) => readonly [Value, HostTensor];

const straight: Feed = (builder, name, tensor) => [
  builder.input(name, { dtype: tensor.dtype, shape: tensor.shape }, "batch"),
  tensor,
];

/** A graph with one node per sample. A tensor that several samples share is one input, which all of them read. */
export function sampleGraph<K extends Op>(
  op: K,
  samples: readonly OpSample<K>[],
  feed: Feed = straight,
): GraphCheck {
  const builder = new GraphBuilder();
  const inputs: Record<string, HostTensor> = {};
  const outputs: Record<string, Value> = {};
  const known = new Map<HostTensor, Value>();
  samples.forEach((sample, index) => {
    const operands = sample.inputs.map((tensor, place) => {
      const shared = sample.inputs.indexOf(tensor) === place ? known.get(tensor) : undefined;
      if (shared !== undefined) return shared;
      const name = `sample${index}.operand${place}`;
      const [value, fed] = feed(builder, name, tensor);
      inputs[name] = fed;
      known.set(tensor, value);
      return value;
    });
    builder.emit(op, operands, sample.attributes).forEach((value, place) => {
      outputs[`sample${index}.result${place}`] = value;
    });
  });
  const findSample = (output: string): OpSample<K> | undefined =>
    samples[Number(/^sample(\d+)\./.exec(output)?.[1])];
  const graph = builder.finish(outputs);
  const dtypes = new Map(graph.outputs.map(({ name, value }) => [name, value.dtype]));
  return {
    graph,
    inputs,
    allowance: (manifest, output) =>
      allowance(manifest, op, dtypes.get(output) as DType, findSample(output)?.exact),
    describe: (output) => {
      const sample = findSample(output);
      const shapes = sample?.inputs.map(({ shape }) => formatShape(shape)) ?? [];
      return `${op}(${shapes.join(", ")})${formatAttributes(sample?.attributes ?? {})} ${output}`;
    },
  };
}

/** Lists attributes for messages, since two samples often differ only in them. A tensor is shown by its type. */
function formatAttributes(attributes: object): string {
  const written = Object.entries(attributes).map(([name, value]) => `${name} ${formatValue(value)}`);
  return written.length === 0 ? "" : ` with ${written.join(", ")}:`;
}

function formatValue(value: unknown): string {
  if (typeof value === "object" && value !== null && "nodes" in value) return "a graph";
  if (Array.isArray(value)) return formatShape(value);
  return isHostTensor(value) ? formatType(value) : String(value);
}

function allowance(manifest: BackendManifest, op: Op, dtype: DType, exact = false): Allowance {
  const declared = manifestAllowance(manifest, op, dtype);
  return exact ? { ...declared, ulp: 0 } : declared;
}

const STUB: RandomSource = randomSource(0, "");

function operatorCases<K extends Op>(op: K): readonly ConformanceCase[] {
  const { samples }: { readonly samples: Sampled<K> } = opRows[op];
  const dtypes = opDTypes[op];
  return dtypes.flatMap((dtype) => {
    const sketches = withoutData(() => samples({ dtype, random: STUB }));
    const behaviours = Object.keys(sketches);
    const behaviourSamples = (behaviour: string, random: RandomSource): readonly OpSample<K>[] =>
      samples({ dtype, random, only: behaviour })[behaviour] ?? [];
    const direct = behaviours.map((behaviour, at) =>
      graphCase(`op/${op}-${dtype}/${behaviour}`, ({ random }) => ({
        ...sampleGraph(op, behaviourSamples(behaviour, random)),
        isUploaded: at === 0 && dtype === dtypes[0],
      })),
    );
    return [...direct, ...viewCases(op, dtype, sketches, behaviourSamples)];
  });
}

/** The same samples on operands that are views when they reach the node: transposed, or sliced from something larger. */
function viewCases<K extends Op>(
  op: K,
  dtype: DType,
  sketches: Behaviours<K>,
  samplesOf: (behaviour: string, random: RandomSource) => readonly OpSample<K>[],
): readonly ConformanceCase[] {
  const behaviour = ["broadcasting", "shapes", "values", "values-f32"].find((name) => name in sketches);
  const samples = behaviour === undefined ? [] : (sketches[behaviour] ?? []);
  const takesViews = samples.some(({ inputs }) => inputs.some(({ shape }) => canLayOut(shape)));
  if (behaviour === undefined || dtype !== opDTypes[op][0] || !takesViews) return [];
  const build = (random: RandomSource) => sampleGraph(op, samplesOf(behaviour, random), layOut);
  return [graphCase(`op/${op}-${dtype}/views-as-operands`, ({ random }) => build(random))];
}

export const opCases: readonly ConformanceCase[] = (Object.keys(opRows) as Op[]).flatMap(operatorCases);
