import type { ProgramMemory } from "../pjrt/program-memory.js";
import type { CompiledProgram } from "../pjrt/topology.js";
import { readModule } from "./hlo-module.js";
import { type Kernel, readKernels } from "./kernels.js";
import type { Product } from "./products.js";

/** What a compiler made of a graph. */
export interface CompiledStep {
  /** In the order in which they run. */
  readonly kernels: readonly Kernel[];
  /** Loops whose trips the compiler does not know: their kernels count once. */
  readonly unknownLoops: number;
  readonly memory: ProgramMemory;
}

export function readCompiled({ module, memory }: CompiledProgram): CompiledStep {
  return { ...readKernels(readModule(module.bytes, module.format)), memory };
}

/** Products of the same types. */
export interface ProductGroup extends Omit<Product, "flops"> {
  readonly count: number;
  /** Of all of them. */
  readonly flops: number;
}

/** A compiled step in numbers; a loop's kernels count once a trip. */
export interface StepFigures {
  readonly kernels: number;
  readonly kernelsByKind: Readonly<Record<string, number>>;
  /** Operations that share a kernel with others. */
  readonly fusedNodes: number;
  readonly bytes: number;
  /** Bytes that each device has after exchanges between devices, by their kind, such as `all-reduce`. */
  readonly exchangedBytes: Readonly<Record<string, number>>;
  readonly memory: ProgramMemory;
  readonly products: readonly ProductGroup[];
  /** Casts between floats that the kernels contain, such as `f32 -> bf16`. */
  readonly casts: Readonly<Record<string, number>>;
  readonly unknownLoops: number;
}

/** Counts kernels, bytes, products and casts of a compiled step. */
export function stepFigures({ kernels, memory, unknownLoops }: CompiledStep): StepFigures {
  const total = (of: (kernel: Kernel) => number): number =>
    kernels.reduce((sum, kernel) => sum + kernel.times * of(kernel), 0);
  return {
    kernels: total(() => 1),
    kernelsByKind: tally(kernels.map(({ kind, times }) => [kind, times])),
    fusedNodes: total(({ nodes }) => (nodes > 1 ? nodes : 0)),
    bytes: total(({ bytes }) => bytes),
    exchangedBytes: tally(
      kernels.flatMap(({ kind, times, exchangedBytes }) =>
        exchangedBytes === 0 ? [] : [[kind, times * exchangedBytes] as const],
      ),
    ),
    memory,
    products: groupProducts(kernels),
    casts: tally(kernels.flatMap(({ casts }) => casts.map((cast) => [cast, 1] as const))),
    unknownLoops,
  };
}

/** Sums by name, the largest first. */
function tally(
  entries: readonly (readonly [name: string, count: number])[],
): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const [name, count] of entries) counts.set(name, (counts.get(name) ?? 0) + count);
  return Object.fromEntries([...counts].sort(([, one], [, other]) => other - one));
}

function groupProducts(kernels: readonly Kernel[]): readonly ProductGroup[] {
  const groups = new Map<string, ProductGroup>();
  for (const { products, times } of kernels)
    for (const { flops, ...types } of products) {
      const key = JSON.stringify(types);
      const { count, flops: before } = groups.get(key) ?? { count: 0, flops: 0 };
      groups.set(key, { ...types, count: count + times, flops: before + times * flops });
    }
  return [...groups.values()].sort((one, other) => other.flops - one.flops);
}

/** `bf16 × bf16 → f32`, with what it sums in where that is not the result's type. */
export function formatProduct({
  operands,
  sum,
  result,
  mayUseTf32,
}: Omit<Product, "flops" | "kind">): string {
  const sums = sum === result ? "" : ` in ${sum}`;
  return `${operands.join(" × ")}${sums} → ${result}${mayUseTf32 ? " (TF32 possible)" : ""}`;
}
