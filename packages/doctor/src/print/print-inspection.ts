import type {
  CheckpointInspection,
  InspectedTensor,
  InspectedValue,
  Inspection,
  OnnxInspection,
} from "../inspect/inspection.js";
import { columns } from "./columns.js";

/** Rows of a list that are printed without `--all`. */
const SHOWN = 20;

/** Without `--all` the last 8 nodes are printed. */
const SHOWN_NODES = -8;

export interface PrintOptions {
  /** Whether to print all rows of long lists. */
  readonly all: boolean;
}

export function printInspection(inspection: Inspection, options: PrintOptions): string {
  const parts = inspection.kind === "onnx" ? onnxParts(inspection) : checkpointParts(inspection);
  return parts
    .filter(({ rows }) => rows.length > 0)
    .map((part) => `${part.title}\n${cut(part, options)}`)
    .join("\n");
}

interface Part {
  readonly title: string;
  readonly rows: readonly (readonly string[])[];
  /** Rows that are printed without `--all`; negative for the last ones. */
  readonly shown?: number;
}

function cut({ rows, shown = SHOWN }: Part, { all }: PrintOptions): string {
  const kept = shown < 0 ? rows.slice(shown) : rows.slice(0, shown);
  if (all || kept.length === rows.length) return columns(rows, "  ");
  const rest = `  … and ${rows.length - kept.length} ${shown < 0 ? "before" : "more"}, --all shows them\n`;
  return shown < 0 ? `${rest}${columns(kept, "  ")}` : `${columns(kept, "  ")}${rest}`;
}

function checkpointParts({
  path,
  isTraining,
  settings,
  groups,
  tensors,
}: CheckpointInspection): readonly Part[] {
  const what = isTraining ? "a checkpoint of a training run" : "a safetensors file";
  return [
    { title: `${path}: ${what}`, rows: Object.entries(settings) },
    {
      title: "groups",
      // Groups say nothing if each has a single tensor.
      rows: Object.values(groups).some((group) => group.tensors > 1)
        ? Object.entries(groups).map(([name, group]) => [
            name,
            countText(group.tensors, "tensor"),
            sizeText(group.bytes),
          ])
        : [],
    },
    tensorPart(tensors),
  ];
}

function onnxParts(model: OnnxInspection): readonly Part[] {
  const opsets = Object.entries(model.opsets).map(([domain, version]) => `${domain || "ai.onnx"} ${version}`);
  const facts = [
    ["IR version", String(model.irVersion)],
    ["opset", opsets.join(", ")],
    ["producer", model.producer],
    ["data in", model.dataFiles.join(", ")],
    ["not read by @mp/onnx", model.notRead.join(", ")],
    ...Object.entries(model.settings),
  ];
  return [
    { title: `${model.path}: an ONNX model`, rows: facts.filter(([, value]) => value !== "") },
    { title: "inputs", rows: model.inputs.map(valueRow) },
    { title: "outputs", rows: model.outputs.map(valueRow) },
    {
      title: "operators",
      rows: Object.entries(model.operators).map(([name, count]) => [name, String(count)]),
    },
    {
      title: "values and what makes them",
      rows: model.nodes
        .filter(({ operator }) => operator !== "Constant")
        .map(({ operator, inputs, outputs }) => [
          outputs.filter((name) => name !== "").join(", "),
          `${operator}(${inputs.join(", ")})`,
        ]),
      shown: SHOWN_NODES,
    },
    tensorPart(model.tensors),
  ];
}

function valueRow({ name, dtype, shape }: InspectedValue): readonly string[] {
  return [name, dtype, shape === undefined ? "unknown shape" : formatShape(shape)];
}

function tensorPart(tensors: readonly InspectedTensor[]): Part {
  const total = tensors.reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    title: `${countText(tensors.length, "tensor")}, ${sizeText(total)}`,
    rows: tensors.map(({ name, dtype, shape, bytes, value }) => [
      name,
      dtype,
      formatShape(shape),
      sizeText(bytes),
      value === undefined ? "" : `= ${value}`,
    ]),
  };
}

const formatShape = (shape: readonly (number | string)[]): string =>
  `[${shape.map((size) => (size === "" ? "?" : size)).join(", ")}]`;

const countText = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

function sizeText(bytes: number): string {
  if (bytes < 10_000) return `${bytes} B`;
  if (bytes < 10_000_000) return `${(bytes / 1e3).toFixed(1)} kB`;
  return bytes < 10_000_000_000 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
