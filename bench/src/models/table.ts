// The table of docs/onnx-models.md, which the command writes as a whole.
import type { Machine } from "../machine.js";
import { markdownTable } from "../markdown-table.js";
import type { ModelComparison } from "./compare-model.js";
import type { ExportedModel, ModelName } from "./exported.js";
import type { RoundTrip } from "./round-trip.js";

export interface Row {
  readonly model: ModelName;
  readonly engine: string;
  readonly exported: ExportedModel;
  /** The comparison, or text if the model was refused. */
  readonly found: ModelComparison | string;
}

/** The largest differences allowed. */
const LIMITS = { forward: 1e-4, float32: 1e-4, mixed_float16: 1e-2 } as const;

/** Whether every difference is within its limit. */
export function isWithin({ found }: Row): boolean {
  if (typeof found === "string") return false;
  const { float32, mixed_float16 } = found.losses;
  return (
    found.forward <= LIMITS.forward && float32 <= LIMITS.float32 && mixed_float16 <= LIMITS.mixed_float16
  );
}

/** A model that was written to a file again. */
export interface WrittenRow {
  readonly model: ModelName;
  readonly found: RoundTrip;
}

/** Whether the written files give PyTorch's output. The file in f16 may instead be refused. */
export function isWrittenWithin({ found: { f32, f16, again } }: WrittenRow): boolean {
  const half = typeof f16 === "string" ? 0 : f16.output;
  return Math.max(f32.output, again) <= LIMITS.forward && half <= LIMITS.mixed_float16;
}

const HEADINGS = [
  "model", "parameters", "nodes", "engine", "nodes of a step", "output", "losses, float32", "losses, mixed_float16",
  "load", "first step", "step",
]; // biome-ignore format: one list

const size = (value: number): string => value.toExponential(1);
const milliseconds = (value: number): string => `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`;

function cells({ model, engine, exported, found }: Row): readonly string[] {
  const { parameters, nodes } = exported;
  const first = [`\`${model}\``, parameters.toLocaleString("en").replaceAll(",", " "), String(nodes), engine];
  if (typeof found === "string") return [...first, found, ...Array<string>(HEADINGS.length - 5).fill("")];
  const { losses, loadMs, firstStepMs, stepMs } = found;
  const times = [loadMs, firstStepMs, stepMs].map(milliseconds);
  return [
    ...first,
    String(found.nodes),
    ...[found.forward, losses.float32, losses.mixed_float16].map(size),
    ...times,
  ];
}

const WRITTEN_HEADINGS = [
  "model", "nodes", "file, f32", "output", "read again", "file, f16", "output, f16", "session", "predictor", "ratio",
  "memory of a predictor", "of a trainer",
]; // biome-ignore format: one list

const megabytes = (bytes: number | undefined): string =>
  bytes === undefined ? "" : `${(bytes / 2 ** 20).toFixed(2)} MiB`;

function roundTripCells({ model, found }: WrittenRow): readonly string[] {
  const { f32, f16 } = found;
  const half = typeof f16 === "string" ? ["", `\`${f16}\``] : [megabytes(f16.bytes), size(f16.output)];
  return [
    `\`${model}\``,
    String(found.nodes),
    megabytes(f32.bytes),
    size(f32.output),
    size(found.again),
    ...half,
    ...[found.sessionMs, found.predictorMs].map((value) => `${value.toFixed(2)} ms`),
    (found.predictorMs / found.sessionMs).toFixed(2),
    ...[found.predictorBytes, found.trainerBytes].map(megabytes),
  ];
}

/** Renders the page; `date` as 2026-11-22. */
export function page(
  rows: readonly Row[],
  written: readonly WrittenRow[],
  run: { readonly date: string; readonly machine: Machine; readonly versions: string },
): string {
  const { date, machine, versions } = run;
  return `# Models exported from PyTorch

These are small models with random weights, exported by \`torch.onnx.export\` (\`optimize=False\`, open batch size), read by \`fromOnnx\` and compared with PyTorch: the output in evaluation mode (limit ${LIMITS.forward}), and the losses before, during and after five steps of SGD in training mode (limit ${LIMITS.float32}; ${LIMITS.mixed_float16} in mixed_float16, against PyTorch in float32). Each figure is the largest difference. Normalizations use the batch's statistics in training; dropout is 0. Times are for float32, from one run on a machine that was also doing other work: loading the file as a model, the first step with its compilation, and the fastest of the later steps.

${markdownTable(HEADINGS, rows.map(cells))}

## Exported again

\`exportOnnx\` wrote the same models with an open batch size, and plain onnxruntime-node (1 thread) ran them at PyTorch's batch and at three times its rows. The table has the largest difference from PyTorch's output (limit ${LIMITS.forward}; ${LIMITS.mixed_float16} in f16, where \`lstm\` is refused, since ONNX Runtime crashes on such loops). "Read again" is the same difference for the f32 file, read by \`fromOnnx\` and served by a \`predictor\` on onnxruntime. Times are medians of 60 runs of the f32 file, alternating between a plain session and the predictor; the ratio is predictor to session. Memory is the most that the engine held for the predictor, without the copies that its optimizer makes of weights, and for a trainer of the same model and batch, with \`sgd\` in float32.

${markdownTable(WRITTEN_HEADINGS, written.map(roundTripCells))}

${date}, ${machine.processor}, ${machine.cores} cores (1 thread), ${machine.system}, Node ${machine.node}, ${versions}. Written by:

\`\`\`sh
python bench/peers/onnx_models.py FOLDER
node bench/dist/models.js FOLDER --write
\`\`\`
`;
}
