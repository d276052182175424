/**
 * The smallest whole backend on another build of ONNX Runtime, here the JavaScript API of onnxruntime-node: what a build
 * for another runtime has to write. State is copied in and out in every run, so it is not fast.
 */
import {
  type Backend,
  type BackendManifest,
  DTYPES,
  type DType,
  type HostTensor,
  MpError,
  tensor,
  type ValueType,
} from "@mp/graph";
import { defineBackend } from "@mp/graph/backend";
import { type Findings, kernelManifest, lowerGraph, type ProbedEngine, targetOf } from "@mp/onnx-lowering";
import { probeEngine } from "@mp/onnx-lowering/probe";
import * as ort from "onnxruntime-node";

/** The engine's names of dtypes, as far as its API has tensors of them. Bits of f16 are in a Uint16Array on both sides. */
const TYPES: Readonly<Partial<Record<DType, ort.Tensor.Type>>> = {
  f32: "float32",
  f16: "float16",
  i32: "int32",
  i64: "int64",
  u64: "uint64",
  u8: "uint8",
  bool: "bool",
};

const asEngines = ({ dtype, shape, data }: HostTensor): ort.Tensor =>
  new ort.Tensor(TYPES[dtype] ?? "float32", data as Float32Array, shape);
const asOurs = ({ data }: ort.Tensor, { dtype, shape }: ValueType): HostTensor =>
  tensor(data as Float32Array, shape, dtype);

/** Lowering knows an engine's failure by its class: whatever the engine throws becomes an MpError. */
async function inEngine<R>(work: Promise<R>): Promise<R> {
  try {
    return await work;
  } catch (cause) {
    throw new MpError("MP_BACKEND_FAILED", `plain: ${cause}`, { cause });
  }
}

/** The optimizer is off: it moves rounding points. The list of nodes is in the order that this gives. */
const load = (model: Uint8Array): Promise<ort.InferenceSession> =>
  inEngine(ort.InferenceSession.create(model, { graphOptimizationLevel: "disabled", logSeverityLevel: 3 }));

async function run(
  session: ort.InferenceSession,
  inputs: Iterable<readonly [string, HostTensor]>,
  outputs: Iterable<readonly [string, ValueType]>,
): Promise<Map<string, HostTensor>> {
  const known = new Set(session.inputNames);
  const feeds = [...inputs]
    .filter(([name]) => known.has(name))
    .map(([name, value]) => [name, asEngines(value)]);
  const results = await inEngine(session.run(Object.fromEntries(feeds)));
  return new Map([...outputs].map(([name, type]) => [name, asOurs(results[name] as ort.Tensor, type)]));
}

const engine: ProbedEngine = {
  device: "cpu",
  version: ort.env.versions.common,
  runModel: async (model, inputs, outputs) => {
    const session = await load(model);
    try {
      return await run(session, inputs, outputs);
    } finally {
      await session.release();
    }
  },
};

/** An engine does not change while a process runs. */
let asked: Promise<Findings> | undefined;

/** The manifest of these kernels, without the dtypes that the API does not take. */
function manifestOf(findings: Findings): BackendManifest {
  const kernels = kernelManifest(findings);
  const isTaken = (dtype: DType): boolean => TYPES[dtype] !== undefined;
  const dtypes = { ...kernels.dtypes };
  for (const dtype of DTYPES.filter((one) => !isTaken(one)))
    dtypes[dtype] = { unsupported: "the API has no tensors of it" };
  const ops = Object.fromEntries(
    Object.entries(kernels.ops).map(([op, support]) => [
      op,
      "unsupported" in support ? support : support.filter(isTaken),
    ]),
  ) as BackendManifest["ops"];
  return {
    specVersion: "v1",
    engine: { name: "onnxruntime-node", version: engine.version },
    device: engine.device,
    ...kernels,
    dtypes,
    ops,
    eventLoop: "blocked-during-step",
    profile: { unsupported: "not written" },
    memory: { unsupported: "not written" },
  };
}

/** Asks the engine what it computes, and lowers every graph to that. */
export async function plainBackend(): Promise<Backend> {
  asked ??= probeEngine(engine);
  const findings = await asked;
  const target = targetOf(findings);
  const copyOf = ({ data, shape, dtype }: HostTensor): HostTensor =>
    tensor(data.slice() as Float32Array, shape, dtype);
  return defineBackend<HostTensor>({
    name: "plain",
    manifest: manifestOf(findings),
    upload: copyOf,
    download: copyOf,
    compile: async (graph) => {
      const { model, constants, inputName, outputName } = lowerGraph(graph, target);
      const session = await load(model);
      return {
        run: async (operands) => {
          const fed = Object.entries(operands).map(([name, value]) => [inputName(name), value] as const);
          const bound = constants.map(({ name, value }) => [name, value] as const);
          const wanted = graph.outputs.map(({ name, value }) => [outputName(name), value] as const);
          const results = await run(session, [...fed, ...bound], wanted);
          return Object.fromEntries(
            graph.outputs.map(({ name }) => [name, results.get(outputName(name)) as HostTensor]),
          );
        },
        dispose: () => void session.release(),
      };
    },
  });
}
