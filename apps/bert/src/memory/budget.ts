/** `--budget`: the largest batch whose step is estimated to fit. */
import { UsageError } from "@mp/cli";
import { onBackend, textTable } from "@mp/cli/training";
import { planMemory } from "@mp/core/report";
import type { Options } from "../flags.js";
import { withTask } from "../tasks/open-task.js";
import type { Text } from "../text/load-text.js";
import { openTraining } from "../training.js";

const UNITS: Readonly<Record<string, number>> = { "": 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };

/** Bytes of a size such as `2GiB`, `512M` or `1e9`. @throws UsageError */
export function parseSize(size: string): number {
  const [, number, unit] = /^([\d.]+(?:e\d+)?)\s*(?:([KMGT])(?:iB|B)?)?$/i.exec(size.trim()) ?? [];
  const bytes = Number(number) * (UNITS[(unit ?? "").toUpperCase()] ?? Number.NaN);
  if (Number.isFinite(bytes) && bytes > 0) return bytes;
  throw new UsageError(`--budget ${size}: expected a size such as 2GiB or 512MiB`);
}

/** The largest n ≥ 1 for which `fits` is true, 0 if there is none. `fits` must be true up to some n and false above. */
export function largest(fits: (n: number) => boolean, most: number): number {
  if (!fits(1)) return 0;
  let [low, high] = [1, 2];
  while (high <= most && fits(high)) [low, high] = [high, 2 * high];
  high = Math.min(high, most + 1);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Largest batch that is tried. Models of this size do not train with larger batches. */
const LARGEST_BATCH = 2 ** 14;

/** Formats a line for each technique: the most sequences that fit into memory at once. */
export async function budgetTable(options: Options, text: Text): Promise<string> {
  const budget = parseSize(options.budget ?? "");
  const lines: string[][] = [];
  for (const checkpointing of [false, true]) {
    for (const accumulate of [1, Math.max(2, options.accumulate)]) {
      const own = { ...options, checkpointing, accumulate, batch: 1 };
      const batch = await onBackend(own, (backend) =>
        withTask(own, text, async (task) => {
          await using training = await openTraining(task, { options: own, backend });
          const { manifest } = backend;
          const { precision } = training;
          return largest(
            (count) => planMemory(training.graph(task.sample(count)), { manifest, precision }).peak <= budget,
            LARGEST_BATCH,
          );
        }),
      );
      const technique = [
        ...(checkpointing ? ["--checkpointing"] : []),
        ...(accumulate > 1 ? [`--accumulate ${accumulate}`] : []),
      ];
      lines.push([
        technique.join(" ") || "neither",
        String(batch),
        accumulate > 1 ? String(batch * accumulate) : "",
      ]);
    }
  }
  return textTable([`fits in ${options.budget}`, "largest batch", "in a step"], lines);
}
