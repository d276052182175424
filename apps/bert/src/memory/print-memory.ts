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

/** The whole batch at once, and with each technique that saves memory. */
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

/** Runs `--memory`, in float32 and in the precision of the flags; `mixed` is float16 where no half is native. */
export async function printMemory(options: Options, context: AppContext): Promise<void> {
  const mixed = options.precision === "mixed" ? await nativeMixed(options) : options.precision;
  const kinds = [plainOptions(options, { halfReductions: false })];
  if (mixed !== "float32") kinds.push({ ...options, precision: mixed });
  const rows: MemoryRow[] = [];
  for (const kind of kinds) {
    const smallest = await measure({ ...kind, batch: 1, accumulate: 1 }, context.signal);
    const beside = besideTensors(smallest);
    for (const { name, options: own } of techniques(kind)) {
      if (context.signal.aborted) return;
      const measured = await measure(own, context.signal);
      rows.push({ technique: name, measured, tensors: measured.peak.bytes - beside });
    }
    if (smallest.peak.of === "process") {
      const besides = (beside / 2 ** 20).toFixed(0);
      context.print(
        `Measured are processes, less the ${besides} MiB that one takes besides tensors (${kind.precision}).`,
      );
    }
  }
  context.print(formatMemory(rows));
  const { json } = options;
  if (json !== undefined) await context.attempt(`--json ${json}`, () => writeResult(json, { memory: rows }));
}

async function nativeMixed(options: Options): Promise<Options["precision"]> {
  return onBackend(options, async ({ manifest: { dtypes } }) =>
    "compute" in dtypes.bf16 && dtypes.bf16.compute === "native" ? "mixed_bfloat16" : "mixed_float16",
  );
}
