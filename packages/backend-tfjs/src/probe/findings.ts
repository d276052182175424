import { DTYPES, type DType, type HalfDType, isHalf, type Op } from "@mp/core";
import { opDTypes } from "@mp/core/backend";
import type { TensorFlow, TfjsBinding } from "../load/index.js";
import { halfUnits } from "./half-units.js";
import { keyOf, type Pair } from "./pair.js";
import { missingKernels } from "./probe-kernels.js";
import { probeSubnormals, type Subnormals, sumsColumns, wrongSums } from "./probe-numerics.js";

/** What an engine was found to do. */
export interface Findings {
  /** What it says against pairs that it cannot run in any way, by `keyOf`. */
  readonly missing: ReadonlyMap<string, string>;
  /** Pairs in halves that are computed in f32, by `keyOf`. */
  readonly widened: ReadonlySet<string>;
  /** Halves whose columns are summed in f32 and rounded once, whatever other sums do. */
  readonly columnSums: ReadonlySet<HalfDType>;
  readonly subnormals: Subnormals;
}

/** By addon: an engine does not change while a process runs. */
const known = new WeakMap<TfjsBinding, Promise<Findings>>();

/** Asks the engine what it computes, once a process. */
export function probeEngine({ binding, device }: Pick<TensorFlow, "binding" | "device">): Promise<Findings> {
  const findings = known.get(binding) ?? probe(binding, halfUnits(device));
  known.set(binding, findings);
  // A failure is that of the one who asked; the next one asks again.
  findings.catch(() => known.delete(binding));
  return findings;
}

const HALVES: readonly HalfDType[] = ["f16", "bf16"];
const PRODUCTS: readonly Op[] = ["MatMul", "Gemm", "Conv", "ConvTranspose", "ConvWeightGradient"];

async function probe(binding: TfjsBinding, units: readonly HalfDType[]): Promise<Findings> {
  const table = Object.entries(opDTypes) as readonly (readonly [Op, readonly DType[]])[];
  // What cannot be carried in or out cannot be asked about either.
  const missing = new Map(
    await missingKernels(
      binding,
      DTYPES.map((dtype) => ({ op: "Identity", dtype })),
      false,
    ),
  );
  const isCarried = (dtype: DType): boolean => !missing.has(keyOf({ op: "Identity", dtype }));
  const pairs = table.flatMap(([op, dtypes]) =>
    dtypes.filter(isCarried).map((dtype): Pair => ({ op, dtype })),
  );
  const without = await missingKernels(binding, pairs, false);
  const retried = pairs.filter((pair) => isHalf(pair.dtype) && without.has(keyOf(pair)));
  const still = await missingKernels(binding, retried, true);
  const widened = new Set(retried.map(keyOf).filter((key) => !still.has(key)));
  const columnSums = new Set<HalfDType>();
  for (const dtype of HALVES.filter(isCarried)) {
    if (await sumsColumns(binding, dtype)) columnSums.add(dtype);
    else widened.add(keyOf({ op: "ReduceSum", dtype }));
    const runs = (op: Op): boolean => !without.has(keyOf({ op, dtype }));
    for (const op of await wrongSums(binding, dtype, runs)) widened.add(keyOf({ op, dtype }));
    // Exact, and faster than what the engine does without the units.
    if (!units.includes(dtype)) for (const op of PRODUCTS) widened.add(keyOf({ op, dtype }));
  }
  for (const [key, reason] of without) if (!widened.has(key)) missing.set(key, reason);
  return { missing, widened, columnSums, subnormals: await probeSubnormals(binding) };
}
