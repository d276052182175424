// The table of docs/onnx-models.md, which the command writes as a whole.
import type { Machine } from "../machine.js";
import type { ModelComparison } from "./compare-model.js";
import type { ExportedModel, ModelName } from "./exported.js";

export interface Row {
  readonly model: ModelName;
  readonly engine: string;
  readonly exported: ExportedModel;
  /** A text for a model that was refused. */
  readonly found: ModelComparison | string;
}

/** What a difference may be. */
const LIMITS = { forward: 1e-4, float32: 1e-3, mixed_float16: 1e-2 } as const;

/** Whether every difference is within its limit. */
export function isWithin({ found }: Row): boolean {
  if (typeof found === "string") return false;
  const { float32, mixed_float16 } = found.losses;
  return (
    found.forward <= LIMITS.forward && float32 <= LIMITS.float32 && mixed_float16 <= LIMITS.mixed_float16
  );
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

const line = (row: readonly string[]): string => `| ${row.join(" | ")} |`;

/** The page; `date` as 2026-11-22. */
export function page(
  rows: readonly Row[],
  {
    date,
    machine,
    versions,
  }: { readonly date: string; readonly machine: Machine; readonly versions: string },
): string {
  return `# Models exported from PyTorch

Eight small models with random weights, exported by \`torch.onnx.export\` (\`optimize=False\`, open batch size), read by \`fromOnnx\` and compared with PyTorch: the output in evaluation mode (limit ${LIMITS.forward}), and the losses before, between and after three steps of SGD in training mode (limit ${LIMITS.float32}; ${LIMITS.mixed_float16} in mixed_float16, against PyTorch in float32). Each figure is the largest difference. Normalizations use the batch's statistics in training; dropout is 0. Times are of float32: from the file to the model, the first step with its compilation, and the fastest of the later ones, of one run on a machine that did other work beside it.

${line(HEADINGS)}
${line(HEADINGS.map(() => "---"))}
${rows.map((row) => line(cells(row))).join("\n")}

${date}, ${machine.processor}, ${machine.cores} cores (1 thread), ${machine.system}, Node ${machine.node}, ${versions}. Written by:

\`\`\`sh
python bench/peers/onnx_models.py FOLDER
node bench/dist/models.js FOLDER --write
\`\`\`
`;
}
