/** The oracle as a table of kernels, each of which is a graph of one node: slow, but any kernel can be replaced. */

import {
  type Backend,
  type Graph,
  GraphBuilder,
  type HostTensor,
  type Op,
  type OpAttributes,
  type ValueType,
} from "@mp/graph";
import { type Kernel, type KernelTable, kernelBackend } from "@mp/graph/backend";
import type { KernelManifest } from "@mp/graph/internal";
import { evaluate, reference } from "@mp/graph/reference";

export type HostKernel<K extends Op> = Kernel<OpAttributes[K], HostTensor>;

/** The operands' tensors. */
export const dataOf = (operands: Parameters<HostKernel<Op>>[0]): readonly HostTensor[] =>
  operands.map(({ data }) => data);

const graphs = new Map<string, Graph>();

const plain = (_key: string, value: unknown): unknown => {
  if (typeof value === "bigint") return `${value}n`;
  if (Object.is(value, -0)) return "-0";
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
};

/** Runs one node on operands with the oracle. */
export function evaluateNode<K extends Op>(
  op: K,
  inputs: readonly HostTensor[],
  attributes: OpAttributes[K],
): readonly HostTensor[] {
  const types = inputs.map(({ dtype, shape }): ValueType => ({ dtype, shape }));
  const key = op === "Constant" ? "" : JSON.stringify([op, attributes, types], plain);
  let graph = graphs.get(key);
  if (graph === undefined) {
    const builder = new GraphBuilder();
    const operands = types.map((type, index) => builder.input(`x${index}`, type, "batch"));
    const outputs = builder.emit(op, operands, attributes);
    graph = builder.finish(new Map(outputs.map((value, index) => [`y${index}`, value])));
    if (key !== "") graphs.set(key, graph);
  }
  const results = evaluate(graph, Object.fromEntries(inputs.map((tensor, index) => [`x${index}`, tensor])));
  return graph.outputs.map(({ name }) => results[name] as HostTensor);
}

const right =
  <K extends Op>(op: K): HostKernel<K> =>
  (inputs, attributes) =>
    evaluateNode(op, dataOf(inputs), attributes);

/** A backend with the oracle's kernels and manifest, with some kernels replaced or left out. */
export async function oracleWithKernels(
  replaced: KernelTable<HostTensor>,
  claims: Partial<KernelManifest> = {},
  lacks: readonly Op[] = [],
): Promise<Backend> {
  const oracle = await reference();
  const {
    ops,
    dtypes,
    specVersion: _version,
    profile: _profile,
    memory: _memory,
    ...numerics
  } = oracle.manifest;
  await oracle.dispose();
  const present = (Object.keys(ops) as Op[]).filter((op) => !lacks.includes(op));
  const kernels = Object.fromEntries(present.map((op) => [op, right(op)]));
  return kernelBackend<HostTensor>({
    name: "oracle-by-kernels",
    manifest: { ...numerics, dtypes: dtypes as KernelManifest["dtypes"], ...claims },
    kernels: { ...kernels, ...replaced },
    upload: copyOf,
    download: copyOf,
    bytes: ({ data }) => data.byteLength,
  });
}

/** A kernel that modifies the oracle's results. */
export function afterwards<K extends Op>(
  op: K,
  change: (result: HostTensor, inputs: readonly HostTensor[]) => HostTensor,
): HostKernel<K> {
  return (inputs, attributes) => {
    const data = dataOf(inputs);
    return evaluateNode(op, data, attributes).map((result) => change(result, data));
  };
}

/** `afterwards` for many ops. */
export function changing(
  ops: readonly Op[],
  change: (result: HostTensor, inputs: readonly HostTensor[], op: Op) => HostTensor,
): KernelTable<HostTensor> {
  return Object.fromEntries(
    ops.map((op) => [op, afterwards(op, (result, inputs) => change(result, inputs, op))]),
  );
}

/** A kernel that runs the oracle on modified operands. */
export function beforehand<K extends Op>(
  op: K,
  change: (inputs: readonly HostTensor[]) => readonly HostTensor[],
): HostKernel<K> {
  return (inputs, attributes) => evaluateNode(op, change(dataOf(inputs)), attributes);
}

function copyOf({ dtype, shape, data }: HostTensor): HostTensor {
  const copy = dtype === "bool" ? (data as Uint8Array).map((byte) => (byte === 0 ? 0 : 1)) : data.slice();
  return { dtype, shape, data: copy } as HostTensor;
}

export const toBigints = ({ data }: HostTensor): readonly bigint[] =>
  Array.from(data as Int32Array, (x) => BigInt(x));
