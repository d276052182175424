import {
  type Comparison,
  compareRuns,
  formatComparison,
  formatRun,
  type RunResult,
  runApp,
  UsageError,
  writeResult,
} from "@mp/cli";
import { float32 } from "@mp/core";
import { checkDrawing } from "./check-drawing.js";
import { loadScenes } from "./data/scenes.js";
import { drawScenes } from "./draw.js";
import { definition } from "./flags.js";
import { formatHistogram, gradientsOf } from "./gradient-histogram.js";
import { type DetectorRun, runDetector } from "./run.js";
import { formatSweep, runSweep } from "./sweep.js";

await runApp(definition, async (options, context) => {
  const { save, resume, report, json, scales, draw, histogram } = options;
  if (options.size % 16 !== 0) {
    throw new UsageError(
      `--size is a multiple of 16, got ${options.size}; take ${16 * Math.ceil(options.size / 16)}`,
    );
  }
  const isOfOneRun = [save, resume, report, draw].some((path) => path !== undefined);
  if (
    scales !== undefined &&
    (options.compare || isOfOneRun || histogram || options.lossScale !== undefined)
  ) {
    throw new UsageError(
      "--scales trains many networks: it goes without --compare, --save, --resume, --report, --draw, --histogram and --loss-scale",
    );
  }
  if (draw !== undefined) checkDrawing(draw);
  const scenes = await loadScenes(options);
  if (scales !== undefined) {
    const sweep = await runSweep(options, scales, scenes, context);
    context.print(formatSweep(sweep.entries));
    if (json !== undefined) writeResult(json, { scales: sweep.entries, runs: sweep.runs } as never);
    return;
  }
  const show = async ({ judged, report: looked }: DetectorRun): Promise<void> => {
    if (looked !== undefined) context.print(formatHistogram(gradientsOf(looked)));
    if (draw !== undefined) context.print(await drawScenes(draw, scenes, judged));
  };
  const write = (result: RunResult | Comparison): void => {
    if (json !== undefined) writeResult(json, result);
  };
  const run = () =>
    runDetector({ options, label: options.precision, save, resume, report }, scenes, context, histogram);
  if (!options.compare) {
    const own = await run();
    context.print(formatRun(own.result));
    context.print(beforeAndAfter(own.result));
    await show(own);
    write(own.result);
    return;
  }
  const beside = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : `${path}.float32`;
  const first = {
    options,
    precision: float32(),
    label: "float32",
    save: beside(save),
    resume: beside(resume),
    // The page is the mixed run's.
    report: undefined,
  };
  const baseline = await runDetector(first, scenes, context, false);
  const own = await run();
  const comparison = compareRuns(baseline.result, own.result);
  context.print(formatComparison(comparison));
  context.print(beforeAndAfter(own.result));
  await show(own);
  write(comparison);
});

function beforeAndAfter({ metric, details }: RunResult): string {
  return `mAP ${Number(details?.["untrained"]).toFixed(4)} untrained, ${metric.value.toFixed(4)} trained.`;
}
