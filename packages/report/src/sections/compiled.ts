import { html, type Markup } from "../html.js";
import { bytes, significant } from "../numbers.js";
import { type Column, table } from "./table.js";

/** Figures of a step compiled for a GPU in one precision, from `compileStep` of `@mp/backend-xla/compile`. */
export interface CompiledForGpu {
  readonly precision: string;
  readonly gpu: string;
  readonly kernels: number;
  /** Bytes that the step's kernels move. */
  readonly bytes: number;
  readonly memory: { readonly arguments: number; readonly temporary: number };
  /** The step's products, grouped by dtypes, which have the compiler's names. */
  readonly products: readonly {
    readonly count: number;
    readonly operands: readonly string[];
    readonly sum: string;
  }[];
  /** Lower bound of the time for moving the bytes, in ms, at the rate that the GPU's maker publishes. */
  readonly bytesMs: number;
  /** Lower bound of the time for the products, in ms, at the published rates. */
  readonly productsMs: number;
  /** Lower bound for both, in ms: for each kernel the longer of its two times, summed over all kernels. */
  readonly boundMs: number;
}

type Figure = readonly [name: string, text: (step: CompiledForGpu) => string];

const milliseconds = (time: number): string => `${significant(time)} ms`;

const FIGURES: readonly Figure[] = [
  ["kernels", ({ kernels }) => kernels.toLocaleString("en")],
  ["bytes moved", (step) => bytes(step.bytes)],
  ["memory of arguments", ({ memory }) => bytes(memory.arguments)],
  ["temporary memory", ({ memory }) => bytes(memory.temporary)],
  ["products", productsText],
  ["bound of the bytes", ({ bytesMs }) => milliseconds(bytesMs)],
  ["bound of the products", ({ productsMs }) => milliseconds(productsMs)],
  ["bound of both, kernel by kernel", ({ boundMs }) => milliseconds(boundMs)],
];

function productsText({ products }: CompiledForGpu): string {
  const counts = new Map<string, number>();
  for (const { count, operands, sum } of products) {
    const types = `${operands.join(" by ")}, summed in ${sum}`;
    counts.set(types, (counts.get(types) ?? 0) + count);
  }
  return [...counts].map(([types, count]) => `${count} of ${types}`).join("; ");
}

/** Makes a table with a column for each step; undefined without steps. */
export function compiledSection(steps: readonly CompiledForGpu[]): Markup | undefined {
  if (steps.length === 0) return undefined;
  const columns: readonly Column<Figure>[] = [
    { head: "", isWords: true, cell: ([name]) => name },
    ...steps.map(({ precision, gpu }, at): Column<Figure> => {
      return { head: `${precision}, ${gpu}`, cell: ([, text]) => text(steps[at] as CompiledForGpu) };
    }),
  ];
  return html`<section aria-labelledby="compiled">
<h2 id="compiled">Compiled for a GPU</h2>
<p>The step was compiled and has not been run there. A bound is the time that bytes and products take at the rates that the GPU's maker publishes: no step takes less, and it says nothing about the time that one takes.</p>
${table("Compiled for a GPU", columns, FIGURES)}
</section>
`;
}
