import { runApp } from "@mp/cli";
import { ONE_RUN_FLAGS, refuseOneRunFlags, trainByFlags } from "@mp/cli/training";
import { definition } from "./flags.js";
import { runSpeech } from "./run.js";
import { loadSpeech } from "./speech/load-speech.js";

const show = (rate: number): string => (100 * rate).toFixed(2);

await runApp(definition, async (options, context) => {
  refuseOneRunFlags(options, { many: ["table", "ablation"], single: ONE_RUN_FLAGS });
  const speech = await loadSpeech(options);
  await trainByFlags({
    options,
    context,
    show,
    plain: { halfReductions: false },
    run: (run) => runSpeech(run, speech),
    conclude: (own, baseline) => {
      if (baseline === undefined) return undefined;
      const difference = own.result.metric.value - baseline.result.metric.value;
      return `The character error rate differs by ${difference < 0 ? "" : "+"}${show(difference)} percentage points.`;
    },
  });
});
