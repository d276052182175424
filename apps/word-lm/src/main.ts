import { type Comparison, type RunResult, runApp, UsageError, writeResult } from "@mp/cli";
import { onEngine, onRanks, type RankRun, refuseBeside, runOnceOrCompare } from "@mp/cli/training";
import { definition, type Options } from "./flags.js";
import { runWordModel } from "./run.js";
import { loadText } from "./text.js";

const SWEPT = ["seed", "batch", "cells", "layers"] as const;

/** Expands `cells=200,400` to one set of options per value. @throws UsageError */
function expandSweep(options: Options): readonly Options[] {
  if (options.sweep === undefined) return [options];
  const [name, list = ""] = options.sweep.split("=");
  const values = list.split(",").map(Number);
  const known = SWEPT.find((candidate) => candidate === name);
  if (known === undefined || values.some((value) => !Number.isInteger(value) || value < 1)) {
    throw new UsageError(`--sweep ${options.sweep}: expected ${SWEPT.join(", ")} = integers ≥ 1`);
  }
  return values.map((value) => ({ ...options, [known]: value }));
}

await runApp(definition, (given, context) => onRanks(given, context, train));

async function train(part: RankRun<Options>): Promise<void> {
  const { options: given, context, ranks, threads } = part;
  if (given.sweep !== undefined) refuseBeside("--sweep", given, ["save", "resume", "report"]);
  const text = await loadText(given.data, given.vocab);
  const runs: (RunResult | Comparison)[] = [];
  for (const options of expandSweep(given)) {
    if (context.signal.aborted) break;
    if (given.sweep !== undefined) context.print(SWEPT.map((name) => `${name} ${options[name]}`).join(", "));
    const { result } = await runOnceOrCompare({
      options: given.sweep === undefined ? options : { ...options, json: undefined },
      context,
      run: onEngine(context, (run) => runWordModel(run, text, ranks), threads),
      conclude: (own, baseline) =>
        baseline === undefined
          ? undefined
          : conclusion(own.result.metric.value / baseline.result.metric.value),
    });
    runs.push(result);
  }
  const { sweep, json } = given;
  if (sweep !== undefined && json !== undefined)
    await context.attempt(`--json ${json}`, () => writeResult(json, { sweep, runs }));
}

function conclusion(ratio: number): string {
  const percent = 100 * (ratio - 1);
  return `Perplexity in mixed precision is ${percent < 0 ? "" : "+"}${percent.toFixed(2)} % of float32's.`;
}
