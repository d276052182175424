import { type RunResult, runApp, UsageError } from "@mp/cli";
import { ablate, refuseBeside, refuseLoneSeeds, runOnceOrCompare, trainMany } from "@mp/cli/training";
import { checkDrawing } from "./check-drawing.js";
import { loadScenes } from "./data/scenes.js";
import { drawScenes } from "./draw.js";
import { definition, type Options } from "./flags.js";
import { formatHistogram } from "./gradient-histogram.js";
import { type DetectorRun, runDetector } from "./run.js";
import { formatSweep, sweepEntry, sweepKinds, sweepRun } from "./sweep.js";

const OF_ONE_RUN = [
  "compare",
  "save",
  "resume",
  "report",
  "draw",
  "histogram",
] as const satisfies readonly (keyof Options)[];

await runApp(definition, async (options, context) => {
  const { scales, draw } = options;
  if (options.size % 16 !== 0) {
    throw new UsageError(
      `--size must be a multiple of 16, got ${options.size}; take ${16 * Math.ceil(options.size / 16)}`,
    );
  }
  if (scales !== undefined) refuseBeside("--scales", options, [...OF_ONE_RUN, "lossScale", "ablation"]);
  if (options.ablation) refuseBeside("--ablation", options, [...OF_ONE_RUN, "halfReductions"]);
  refuseLoneSeeds(options, ["scales", "ablation"]);
  if (draw !== undefined) checkDrawing(draw);
  const scenes = await loadScenes(options);
  const run = (own: Options, label: string): Promise<DetectorRun> =>
    runDetector(own, label, { scenes, context });
  if (options.ablation) return await ablate({ options, context, run, show: (value) => value.toFixed(4) });
  if (scales !== undefined) {
    return await trainMany({
      options,
      context,
      kinds: sweepKinds(options, scales),
      run: async (own, label) => sweepRun(await run(own, label)),
      name: "scales",
      format: formatSweep,
      entry: sweepEntry,
    });
  }
  const { own } = await runOnceOrCompare({
    options,
    context,
    plain: { halfReductions: false, histogram: false },
    run,
    conclude: (last) => beforeAndAfter(last),
  });
  if (own === undefined || draw === undefined) return;
  await context.attempt(`--draw ${draw}`, async () =>
    context.print(await drawScenes(draw, scenes, own.judged)),
  );
});

/** mAP, and the histogram where one was requested. */
function beforeAndAfter({ result, report }: DetectorRun): string {
  const { metric, details } = result as RunResult;
  const line = `mAP ${Number(details?.["untrained"]).toFixed(4)} untrained, ${metric.value.toFixed(4)} trained.`;
  return report === undefined ? line : `${line}\n${formatHistogram(report.gradients.histogram)}`;
}
