import { arrayOf, type SafetensorsTensor } from "@mp/safetensors";
import { loadFile } from "@mp/safetensors/file";
import type { CheckpointInspection, InspectedTensor } from "./inspection.js";

/** Reads all data, to check the hash. @throws SAFETENSORS_IO, SAFETENSORS_PARSE, SAFETENSORS_OUT_OF_MEMORY */
export async function inspectCheckpoint(path: string): Promise<CheckpointInspection> {
  const { tensors: loaded, metadata } = await loadFile(path);
  const tensors = Object.entries(loaded)
    .map(([name, tensor]) => inspectTensor(name, tensor))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    kind: "checkpoint",
    path,
    isTraining: metadata["format"]?.startsWith("mp.training/") ?? false,
    settings: { ...metadata },
    groups: sumByGroup(tensors),
    tensors,
  };
}

function inspectTensor(name: string, { dtype, shape, data }: SafetensorsTensor): InspectedTensor {
  const common = { name, dtype, shape, bytes: data.byteLength };
  const isNumber = shape.length === 0 && /^(F32|F64|I32|I64|U64)$/.test(dtype);
  if (!isNumber) return common;
  const value: unknown = arrayOf({ dtype, shape, data })[0];
  return { ...common, value: typeof value === "number" ? value : String(value) };
}

function sumByGroup(tensors: readonly InspectedTensor[]): CheckpointInspection["groups"] {
  const groups = new Map<string, { tensors: number; bytes: number }>();
  for (const { name, bytes } of tensors) {
    const group = name.split("/")[0] ?? name;
    const { tensors = 0, bytes: before = 0 } = groups.get(group) ?? {};
    groups.set(group, { tensors: tensors + 1, bytes: before + bytes });
  }
  return Object.fromEntries(groups);
}
