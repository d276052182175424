import { runApp, UsageError } from "@mp/cli";
import {
  ablate,
  onEngine,
  refuseBeside,
  refuseOneRunFlags,
  refuseOutput,
  runOnceOrCompare,
  trainMany,
} from "@mp/cli/training";
import { loadScenes } from "./data/scenes.js";
import { drawScenes } from "./draw.js";
import { definition, type Options } from "./flags.js";
import { formatHistogram } from "./gradient-histogram.js";
import { type DetectorRun, runDetector } from "./run.js";
import { formatSweep, sweepEntry, sweepKinds, sweepRun } from "./sweep.js";

const SINGLE = ["compare", "save", "resume", "report", "draw", "histogram"] as const;

await runApp(definition, async (options, context) => {
  const { size, scales, draw } = options;
  if (size % 16 !== 0) {
    throw new UsageError(`--size must be a multiple of 16, got ${size}; take ${16 * Math.ceil(size / 16)}`);
  }
  refuseOneRunFlags(options, { many: ["scales", "ablation"], single: SINGLE });
  if (scales !== undefined) refuseBeside("--scales", options, ["lossScale"]);
  if (options.ablation) refuseBeside("--ablation", options, ["halfReductions"]);
  refuseOutput("draw", draw, "directory");
  const scenes = await loadScenes(options);
  const run = onEngine<Options, DetectorRun>(context, (one) => runDetector(one, scenes));
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
  const plain = { halfReductions: false, histogram: false };
  const { own } = await runOnceOrCompare({ options, context, plain, run, conclude: beforeAndAfter });
  if (own === undefined || draw === undefined) return;
  await context.attempt(`--draw ${draw}`, async () =>
    context.print(await drawScenes(draw, scenes, own.judged)),
  );
});

/** Formats mAP, and the histogram if one was requested. */
function beforeAndAfter({ result, report }: DetectorRun): string {
  const { metric, details } = result;
  const line = `mAP ${Number(details?.["untrained"]).toFixed(4)} untrained, ${metric.value.toFixed(4)} trained.`;
  return report === undefined ? line : `${line}\n${formatHistogram(report.gradients.histogram)}`;
}
