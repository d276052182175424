/**
 * Trains for a few steps in a process of its own and writes one line of JSON: planned and measured memory. Takes the
 * app's command line.
 */
import { parseCommandLine } from "@mp/cli";
import { backendOf } from "@mp/cli/training";
import { type PlannedMemory, planMemory } from "@mp/core/report";
import { definition } from "../flags.js";
import { withTask } from "../tasks/open-task.js";
import { loadText } from "../text/load-text.js";
import { openTraining } from "../training.js";
import { residentPeak, startPeak } from "./resident.js";

/** Figures of one way of training, measured by a process of its own. */
export interface Measured {
  /** The precision's name. */
  readonly precision: string;
  readonly planned: PlannedMemory;
  /**
   * Peak bytes of the engine's tensors; for engines that do not report it, the growth of the process's resident
   * memory.
   */
  readonly peak: { readonly of: "tensors" | "process"; readonly bytes: number };
  /** The fastest step. */
  readonly msPerStep: number;
}

const STEPS = 8;
/** Steps until everything is compiled and the memory of compilation has been freed. */
const SETTLED = 2;

const parsed = parseCommandLine(definition, process.argv.slice(2));
if (parsed.kind !== "run") throw new Error("internal: measure.js gets flags that the app has accepted");
const { options } = parsed;
const text = await loadText(options.data, options.vocab);
const backend = await backendOf(options);
const measured = await withTask(options, text, async (task): Promise<Measured> => {
  const batch = task.sample(options.batch);
  startPeak();
  const before = process.memoryUsage.rss();
  await using training = await openTraining(task, { options, backend });
  const milliseconds: number[] = [];
  for (let step = 0; step < STEPS; step++) {
    const startedAt = performance.now();
    await training.step(...Array.from({ length: options.accumulate }, () => batch));
    milliseconds.push(performance.now() - startedAt);
    // Memory that tracing, compiling and uploading took does not count.
    if (step < SETTLED) startPeak();
  }
  const peak = await training.peakBytes();
  const added = residentPeak() - before;
  return {
    precision: training.precision.name,
    planned: planMemory(training.graph(batch), { manifest: backend.manifest, precision: training.precision }),
    peak: peak === undefined ? { of: "process", bytes: added } : { of: "tensors", bytes: peak },
    msPerStep: Math.min(...milliseconds.slice(SETTLED)),
  };
});
await backend.dispose();
process.stdout.write(`${JSON.stringify(measured)}\n`);
