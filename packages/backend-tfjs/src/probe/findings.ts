import {
  ADDING_OPS,
  type AnyNode,
  DTYPES,
  type DType,
  decidingDType,
  type HalfDType,
  isHalf,
  type Op,
  opDTypes,
  PRODUCT_OPS,
} from "@mp/graph";
import { pairKey } from "@mp/graph/backend";
import * as probes from "@mp/graph/probe";
import type { TensorFlow, TfjsBinding } from "../load/index.js";
import { missingKernels } from "./probe-kernels.js";
import { isSigmoidRough, probeSubnormals, type Subnormals, sumsColumns } from "./probe-numerics.js";
import { processorFlags } from "./read-processor-flags.js";
import { runGraph } from "./run-graph.js";

/** Results of probing an engine. */
export interface Findings {
  /** The engine's error for each op and dtype that it can run in no form, by `pairKey`. */
  readonly missing: ReadonlyMap<string, string>;
  /** Keys (`pairKey`) of ops in half dtypes that are computed in f32. */
  readonly widened: ReadonlySet<string>;
  /** Half dtypes in which sums of a matrix's columns accumulate in f32 and round once, unlike other sums. */
  readonly columnSums: ReadonlySet<HalfDType>;
  readonly subnormals: Subnormals;
  /** How convolutions of infinities and NaN deviate from IEEE 754; undefined if they do not. */
  readonly nonFinite: string | undefined;
}

/** Findings by addon. They are kept, because an engine does not change while a process runs. */
const known = new WeakMap<TfjsBinding, Promise<Findings>>();

/** Probes what the engine computes, once per process. */
export function probeEngine({ binding, device }: Pick<TensorFlow, "binding" | "device">): Promise<Findings> {
  const findings = known.get(binding) ?? probe(binding, probes.halfUnits(device, processorFlags()));
  known.set(binding, findings);
  // A failure belongs to the caller that asked; the next caller probes again.
  findings.catch(() => known.delete(binding));
  return findings;
}

const HALVES: readonly HalfDType[] = ["f16", "bf16"];

async function probe(binding: TfjsBinding, units: readonly HalfDType[]): Promise<Findings> {
  const table = Object.entries(opDTypes) as readonly (readonly [Op, readonly DType[]])[];
  // A dtype that cannot be fed or fetched cannot be probed either.
  const missing = new Map(
    await missingKernels(
      binding,
      DTYPES.map((dtype) => ({ op: "Identity", dtype })),
      false,
    ),
  );
  const isCarried = (dtype: DType): boolean => !missing.has(pairKey({ op: "Identity", dtype }));
  const pairs = table.flatMap(([op, dtypes]) =>
    dtypes.filter(isCarried).map((dtype): probes.ProbePair => ({ op, dtype })),
  );
  const without = await missingKernels(binding, pairs, false);
  const retried = pairs.filter((pair) => isHalf(pair.dtype) && without.has(pairKey(pair)));
  const still = await missingKernels(binding, retried, true);
  const widened = new Set(retried.map(pairKey).filter((key) => !still.has(key)));
  const columnSums = new Set<HalfDType>();
  const plainly = ({ graph, inputs }: probes.ProbeGraph): Promise<probes.ProbeResults> =>
    runGraph(binding, graph, inputs, () => false);
  for (const dtype of HALVES.filter(isCarried)) {
    if (await sumsColumns(binding, dtype)) columnSums.add(dtype);
    else widened.add(pairKey({ op: "ReduceSum", dtype }));
    const runs = (op: Op): boolean => !without.has(pairKey({ op, dtype }));
    const summed = await probes.narrowSums(dtype, ADDING_OPS.filter(runs), plainly);
    for (const op of summed) widened.add(pairKey({ op, dtype }));
    if (runs("Sigmoid") && (await isSigmoidRough(binding, dtype)))
      widened.add(pairKey({ op: "Sigmoid", dtype }));
    // Products in f32 are exact, and faster than the engine's half products without these units.
    if (!units.includes(dtype)) for (const op of PRODUCT_OPS) widened.add(pairKey({ op, dtype }));
  }
  for (const [key, reason] of without) if (!widened.has(key)) missing.set(key, reason);
  const isWidened = (node: AnyNode): boolean =>
    widened.has(pairKey({ op: node.op, dtype: decidingDType(node) }));
  const nonFinite = await probes.nonFiniteProblem(
    ["f32", ...HALVES.filter((dtype) => isCarried(dtype) && !widened.has(pairKey({ op: "Conv", dtype })))],
    ({ graph, inputs }) => runGraph(binding, graph, inputs, isWidened),
  );
  return { missing, widened, columnSums, subnormals: await probeSubnormals(binding), nonFinite };
}
