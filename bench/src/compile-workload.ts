/** Compiles a workload's step for a GPU that is not here, and formats what the compiler reports about it. */
import { compileStep, type DevicelessOptions, formatProduct, type StepForGpu } from "@mp/backend-xla/compile";
import { precisions } from "./engine.js";
import type { PrecisionName } from "./job.js";
import { markdownTable } from "./markdown-table.js";
import { displayName, makeWorkload, type SizedWorkload } from "./workloads/workloads.js";

export interface CompiledWorkload extends StepForGpu {
  /** The workload's name and sizes, written as on the command line. */
  readonly workload: string;
  readonly precision: PrecisionName;
}

/** Compiles a workload's step, by a trainer's first step on an engine that compiles but runs nothing. */
export async function compileWorkload(
  workload: SizedWorkload,
  precision: PrecisionName,
  options: Pick<DevicelessOptions, "target" | "devices" | "flashAttention">,
): Promise<CompiledWorkload> {
  const made = makeWorkload(workload);
  const step = await compileStep(options, async (backend) => {
    const training = await made.train(backend, precisions[precision]());
    await training.step();
    await training.dispose();
  });
  return { workload: displayName(workload), precision, ...step };
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toPrecision(3)} GB`;
const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
const milliseconds = (time: number): string => `${time.toPrecision(3)} ms`;

/** Figures of a compiled step, as text by name; an empty text is left out of the line. */
const FIGURES: Readonly<Record<string, (step: CompiledWorkload) => string>> = {
  kernels: ({ kernels }) => String(kernels),
  "nodes of the graph": ({ nodes }) => String(nodes),
  "operations fused": ({ fusedNodes }) => String(fusedNodes),
  "loops of unknown length, counted once": ({ unknownLoops }) =>
    unknownLoops === 0 ? "" : String(unknownLoops),
  "bytes moved": ({ bytes }) => gigabytes(bytes),
  "bytes exchanged": ({ exchangedBytes }) =>
    Object.entries(exchangedBytes)
      .map(([kind, bytes]) => `${kind} ${gigabytes(bytes)}`)
      .join(", "),
  "memory of arguments": ({ memory }) => mebibytes(memory.arguments),
  "temporary memory": ({ memory }) => mebibytes(memory.temporary),
  products: ({ products }) => products.map((group) => `${group.count} ${formatProduct(group)}`).join(", "),
  "operands of products": ({ products }) => {
    const bytes = (groups: typeof products): string =>
      gigabytes(groups.reduce((sum, { operandBytes }) => sum + operandBytes, 0));
    const eighths = products.filter(({ operands }) => operands.every((type) => type.startsWith("f8")));
    return eighths.length === 0 ? bytes(products) : `${bytes(products)}, of 8 bits ${bytes(eighths)}`;
  },
  "bound of the bytes": ({ bytesMs }) => milliseconds(bytesMs),
  "bound of the products": ({ productsMs }) => milliseconds(productsMs),
  "bound of both, kernel by kernel": ({ boundMs }) => milliseconds(boundMs),
  "compiled in": ({ compileMs }) => `${(compileMs / 1000).toFixed(1)} s`,
};

const title = ({ workload, precision }: CompiledWorkload): string => `${workload} ${precision}`;

/** Formats a compiled step as one line. */
export function formatCompiled(step: CompiledWorkload): string {
  const texts = Object.entries(FIGURES).map(([name, text]) => [name, text(step)] as const);
  const figures = texts.filter(([, text]) => text !== "").map(([name, text]) => `${name} ${text}`);
  return `${title(step)}: ${figures.join("; ")}`;
}

/** Formats a table with a column for each step. */
export const compiledTable = (steps: readonly CompiledWorkload[]): string =>
  markdownTable(
    ["", ...steps.map(title)],
    Object.entries(FIGURES).map(([name, text]) => [name, ...steps.map(text)]),
  );
