import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { MpError } from "@mp/core";
import { byteLength } from "@mp/core/graph";
import {
  bodiesOf,
  type DataPlace,
  decodeModel,
  type OnnxModel,
  type OnnxNode,
  type OnnxValueInfo,
  READ_OPERATORS,
} from "@mp/onnx";
import type { InspectedValue, OnnxInspection } from "./inspection.js";
import { onSystem } from "./on-system.js";

/** Size limit of a tensor. External data is not read, and its arrays take no memory until they are written to. */
const MAX_TENSOR_BYTES = 2 ** 40;

/** @throws MP_PARSE, MP_UNSUPPORTED; MP_IO for files of external data that are missing */
export function inspectOnnx(path: string, bytes: Uint8Array): OnnxInspection {
  const dataFiles = new Set<string>();
  const externalData = (place: DataPlace) => {
    dataFiles.add(place.location);
    return placeholder(join(dirname(path), place.location), place);
  };
  const model = decodeModel(bytes, { externalData, maxTensorBytes: MAX_TENSOR_BYTES });
  const { graph, opsets, irVersion, producerName, producerVersion, functions } = model;
  const own = new Set(functions.map(({ domain, name }) => operatorName(domain, name)));
  const operators = countOperators(model);
  return {
    kind: "onnx",
    path,
    irVersion,
    opsets: { ...opsets },
    producer: [producerName, producerVersion].filter((part) => part !== "").join(" "),
    inputs: graph.inputs.map(inspectValue),
    outputs: graph.outputs.map(inspectValue),
    operators,
    notRead: Object.keys(operators).filter((name) => !own.has(name) && !READ_OPERATORS.includes(name)),
    settings: { ...model.metadata },
    nodes: graph.nodes.map(({ domain, opType, inputs, outputs }) => ({
      operator: operatorName(domain, opType),
      inputs,
      outputs,
    })),
    tensors: graph.initializers.map(({ name, tensor }) => ({
      name,
      dtype: tensor.dtype,
      shape: tensor.shape,
      bytes: byteLength(tensor),
    })),
    dataFiles: [...dataFiles].sort(),
  };
}

const operatorName = (domain: string, name: string): string => (domain === "" ? name : `${domain}.${name}`);

function countOperators({ graph, functions }: OnnxModel): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  const count = (nodes: readonly OnnxNode[]): void => {
    for (const node of nodes) {
      const name = operatorName(node.domain, node.opType);
      counts.set(name, (counts.get(name) ?? 0) + 1);
      for (const body of bodiesOf(node)) count(body.nodes);
    }
  };
  count(graph.nodes);
  for (const { nodes } of functions) count(nodes);
  return Object.fromEntries([...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)));
}

function inspectValue({ name, type }: OnnxValueInfo): InspectedValue {
  return { name, dtype: type?.elementType ?? "unknown", shape: type?.shape };
}

function placeholder(file: string, { offset, length }: DataPlace): Uint8Array {
  const size = fileSize(file);
  const wanted = length ?? Math.max(0, size - offset);
  if (offset + wanted > size)
    throw new MpError("MP_PARSE", `onnx: ${file} has ${size} bytes, the model needs ${offset + wanted}`, {
      details: { path: file, size },
    });
  try {
    return new Uint8Array(wanted);
  } catch (cause) {
    throw new MpError(
      "MP_OUT_OF_MEMORY",
      `onnx: a tensor in ${file} takes ${wanted} bytes, more than can be allocated at once`,
      { cause, details: { path: file, bytes: wanted } },
    );
  }
}

function fileSize(file: string): number {
  const size = (): number => {
    const found = statSync(file);
    if (!found.isFile()) throw Object.assign(new Error(), { code: "no regular file" });
    return found.size;
  };
  return onSystem(file, size, `${file}, which holds data of the model`);
}
