import { type RunResult, runApp } from "@mp/cli";
import { ablate, precisionTable, refuseBeside, refuseLoneSeeds, runOnceOrCompare } from "@mp/cli/training";
import { definition, type Options } from "./flags.js";
import { runSpeech } from "./run.js";
import { loadSpeech } from "./speech/load-speech.js";

const OF_ONE_RUN = ["compare", "save", "resume", "report", "halfReductions"] as const;
const show = (rate: number): string => (100 * rate).toFixed(2);

await runApp(definition, async (options, context) => {
  if (options.table) refuseBeside("--table", options, [...OF_ONE_RUN, "ablation"]);
  if (options.ablation) refuseBeside("--ablation", options, OF_ONE_RUN);
  refuseLoneSeeds(options, ["table", "ablation"]);
  const speech = await loadSpeech(options);
  const run = async (own: Options, label: string): Promise<{ readonly result: RunResult }> => ({
    result: await runSpeech(own, label, speech, context),
  });
  if (options.ablation) return await ablate({ options, context, run, show });
  if (options.table) return await precisionTable({ options, context, run, show });
  await runOnceOrCompare({
    options,
    context,
    plain: { halfReductions: false },
    run,
    conclude: (own, baseline) => {
      if (baseline === undefined) return undefined;
      const difference = own.result.metric.value - baseline.result.metric.value;
      return `The character error rate differs by ${difference < 0 ? "" : "+"}${show(difference)} percentage points.`;
    },
  });
});
