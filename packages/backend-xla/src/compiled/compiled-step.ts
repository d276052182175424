import type { CompiledProgram, ProgramMemory } from "../pjrt/compiled-program.js";
import { readModule } from "./hlo-module.js";
import { type Kernel, type ReadKernels, readKernels } from "./kernels.js";
import type { Product } from "./products.js";

/** A compiled graph: its kernels and the memory that it takes. */
export interface CompiledStep extends ReadKernels {
  readonly memory: ProgramMemory;
}

export function readCompiled({ module, memory }: CompiledProgram): CompiledStep {
  return { ...readKernels(readModule(module.bytes, module.format)), memory };
}

/** The matrix products and convolutions of the same kind and types. Their bytes and operations are sums over all. */
export interface ProductGroup extends Product {
  readonly count: number;
}

/** Figures of a compiled step. Kernels in a loop count once per trip. */
export interface StepFigures {
  readonly kernels: number;
  readonly kernelsByKind: Readonly<Record<string, number>>;
  /** Number of operations that share a kernel with other operations. */
  readonly fusedNodes: number;
  readonly bytes: number;
  /** Bytes that each device holds after an exchange between devices, by opcode, such as `all-reduce`. */
  readonly exchangedBytes: Readonly<Record<string, number>>;
  readonly memory: ProgramMemory;
  readonly products: readonly ProductGroup[];
  /** Number of casts between float types in the kernels, by type, such as `f32 -> bf16`. */
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

/** Adds up the counts of each name; the largest sum comes first. */
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
    for (const { flops, operandBytes, ...types } of products) {
      const key = JSON.stringify(types);
      const before = groups.get(key) ?? { count: 0, flops: 0, operandBytes: 0 };
      groups.set(key, {
        ...types,
        count: before.count + times,
        flops: before.flops + times * flops,
        operandBytes: before.operandBytes + times * operandBytes,
      });
    }
  return [...groups.values()].sort((one, other) => other.flops - one.flops);
}

/** Formats a product as `bf16 × bf16 → f32`, and adds the type in which it is summed if that differs. */
export function formatProduct({
  operands,
  sum,
  result,
  mayUseTf32,
}: Pick<Product, "operands" | "sum" | "result" | "mayUseTf32">): string {
  const sums = sum === result ? "" : ` in ${sum}`;
  return `${operands.join(" × ")}${sums} → ${result}${mayUseTf32 ? " (TF32 possible)" : ""}`;
}
