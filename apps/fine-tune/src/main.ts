import { runApp, UsageError } from "@mp/cli";
import { refuseBeside, runOnceOrCompare } from "@mp/cli/training";
import { definition } from "./flags.js";
import { fineTune, pretrain, printMemory } from "./run.js";
import { withSource } from "./source.js";

const OF_A_TRAINING = ["compare", "save", "resume", "report", "adapter"] as const;

await runApp(definition, async (options, context) => {
  if (options.memory) refuseBeside("--memory", options, OF_A_TRAINING, "trains nothing");
  if (options.loraRank === 0)
    refuseBeside("--lora-rank 0", options, ["adapter", "targets"], "has no adapter");
  if (options.loraRank === 0 && options.base !== "f32")
    throw new UsageError(`--base ${options.base}: is for a frozen base; --lora-rank 0 goes with --base f32`);
  await withSource(options, async (source) => {
    if (options.memory) return await printMemory(options, source, context);
    await pretrain(options, source, context);
    await runOnceOrCompare({
      options,
      context,
      plain: { adapter: undefined },
      run: async (own, label) => ({ result: await fineTune(own, label, source, context) }),
    });
  });
});
