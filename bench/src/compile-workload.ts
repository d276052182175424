/** A workload's step compiled for a GPU that is not here, and what the compiler made of it. */
import {
  compileStep,
  type DevicelessOptions,
  formatProduct,
  type ProductGroup,
  type StepForGpu,
} from "@mp/backend-xla/compile";
import { precisions } from "./engine.js";
import type { PrecisionName } from "./job.js";
import { markdownTable } from "./markdown-table.js";
import { displayName, makeWorkload, type SizedWorkload } from "./workloads/workloads.js";

export interface CompiledWorkload extends StepForGpu {
  /** The workload as on the command line. */
  readonly workload: string;
  readonly precision: PrecisionName;
}

/** Nothing runs: the trainer's first step compiles its program. */
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
const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`;
const milliseconds = (time: number): string => `${time.toPrecision(3)} ms`;

const productsText = (products: readonly ProductGroup[]): string =>
  products.map((group) => `${group.count} ${formatProduct(group)}`).join(", ");

/** One line. */
export function formatCompiled(step: CompiledWorkload): string {
  const { workload, precision, kernels, nodes, fusedNodes, bytes, exchangedBytes } = step;
  const { memory, products, unknownLoops } = step;
  const loops = unknownLoops === 0 ? "" : `, ${unknownLoops} loops of unknown length counted once`;
  return [
    `${workload} ${precision}: ${kernels} kernels of ${nodes} nodes, ${fusedNodes} operations fused${loops}`,
    `${gigabytes(bytes)} moved`,
    ...Object.entries(exchangedBytes).map(([kind, exchanged]) => `${kind} of ${gigabytes(exchanged)}`),
    `memory ${megabytes(memory.arguments)} of arguments and ${megabytes(memory.temporary)} temporary`,
    `products ${productsText(products)}`,
    `bound ${milliseconds(step.boundMs)} (bytes ${milliseconds(step.bytesMs)}, products ${milliseconds(step.productsMs)})`,
    `compiled in ${(step.compileMs / 1000).toFixed(1)} s`,
  ].join("; ");
}

/** A column a step, float32 beside mixed precision. */
export function compiledTable(steps: readonly CompiledWorkload[]): string {
  const rows: Readonly<Record<string, (step: CompiledWorkload) => string>> = {
    "nodes of the graph": ({ nodes }) => String(nodes),
    kernels: ({ kernels }) => String(kernels),
    "operations fused": ({ fusedNodes }) => String(fusedNodes),
    "bytes moved": ({ bytes }) => gigabytes(bytes),
    "memory of arguments": ({ memory }) => megabytes(memory.arguments),
    "temporary memory": ({ memory }) => megabytes(memory.temporary),
    products: ({ products }) => productsText(products),
    "bound of the bytes": ({ bytesMs }) => milliseconds(bytesMs),
    "bound of the products": ({ productsMs }) => milliseconds(productsMs),
    "bound of both, kernel by kernel": ({ boundMs }) => milliseconds(boundMs),
  };
  return markdownTable(
    ["", ...steps.map(({ workload, precision }) => `${workload} ${precision}`)],
    Object.entries(rows).map(([name, text]) => [name, ...steps.map(text)]),
  );
}
