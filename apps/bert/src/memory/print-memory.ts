import { type AppContext, UsageError, writeResult } from "@mp/cli";
import { onBackend, plainOptions } from "@mp/cli/training";
import type { Options } from "../flags.js";
import { measure } from "./ask-process.js";
import { besideTensors, formatMemory, type MemoryRow } from "./table.js";

interface Technique {
  readonly name: string;
  readonly options: Options;
}

/** Microbatches of the technique, without `--accumulate`. */
const MICROBATCHES = 4;

/** Techniques to compare: the whole batch at once, and each way to save memory. */
function techniques(options: Options): readonly Technique[] {
  const whole = options.batch * options.accumulate;
  const micro = options.accumulate > 1 ? options.accumulate : MICROBATCHES;
  if (whole % micro !== 0) {
    throw new UsageError(`--memory: a batch of ${whole} cannot be divided into ${micro} microbatches`);
  }
  const of = (name: string, checkpointing: boolean, accumulate: number): Technique => ({
    name,
    options: { ...options, checkpointing, accumulate, batch: whole / accumulate },
  });
  return [
    of("", false, 1),
    of(", checkpointing", true, 1),
    of(`, ${micro} microbatches`, false, micro),
    of(", both", true, micro),
  ];
}

/**
 * Runs `--memory`, in float32 and in the precision of the flags; if the engine computes natively in no half dtype,
 * `mixed` means float16.
 */
export async function printMemory(options: Options, context: AppContext): Promise<void> {
  const mixed = options.precision === "mixed" ? await nativeMixed(options) : options.precision;
  const kinds = [plainOptions(options, { halfReductions: false })];
  if (mixed !== "float32") kinds.push({ ...options, precision: mixed });
  const rows: MemoryRow[] = [];
  for (const kind of kinds) {
    const beside = measureBesideTensors(kind, context);
    for (const { name, options: own } of techniques(kind)) {
      if (context.signal.aborted) return;
      const measured = await measure(own, context.signal);
      const tensors = measured.peak.of === "tensors" ? 0 : await beside(own);
      rows.push({ technique: name, measured, tensors: measured.peak.bytes - tensors });
    }
  }
  context.print(formatMemory(rows));
  const { json } = options;
  if (json !== undefined) await context.attempt(`--json ${json}`, () => writeResult(json, { memory: rows }));
}

/**
 * Measures with the smallest batch the memory that a process takes besides tensors, once for whole steps and once for
 * microbatches, which take two programs with sums between them.
 */
function measureBesideTensors(kind: Options, context: AppContext): (own: Options) => Promise<number> {
  const known = new Map<number, number>();
  return async ({ accumulate }) => {
    const micro = Math.min(accumulate, 2);
    const found =
      known.get(micro) ??
      besideTensors(await measure({ ...kind, batch: 1, accumulate: micro }, context.signal));
    if (!known.has(micro)) {
      const parts = micro > 1 ? ", with microbatches" : "";
      context.print(
        `A process takes ${(found / 2 ** 20).toFixed(0)} MiB besides tensors (${kind.precision}${parts}).`,
      );
    }
    known.set(micro, found);
    return found;
  };
}

async function nativeMixed(options: Options): Promise<Options["precision"]> {
  return onBackend(options, async ({ manifest: { dtypes } }) =>
    "compute" in dtypes.bf16 && dtypes.bf16.compute === "native" ? "mixed_bfloat16" : "mixed_float16",
  );
}
