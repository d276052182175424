import type { AppContext, RunResult } from "@mp/cli";
import { firstBatch, fitByFlags, onBackend, resultOf } from "@mp/cli/training";
import { graphCost } from "@mp/core/graph";
import { planMemory } from "@mp/core/report";
import type { Options } from "./flags.js";
import { withTask } from "./tasks/open-task.js";
import type { Text } from "./text/load-text.js";
import { trainingOf } from "./training.js";

/** One training run from its first step to its metric. */
export function runBert(
  options: Options,
  label: string,
  text: Text,
  context: AppContext,
): Promise<RunResult> {
  return onBackend(options, (backend) =>
    withTask(options, text, async (task): Promise<RunResult> => {
      await using training = await trainingOf(task, options, backend, context.signal);
      const { batches } = task;
      const record = await fitByFlags({ training, batches, options, context, label });
      const metric = await task.judge(training);
      const graph = training.graph(await firstBatch(batches));
      const { manifest } = backend;
      return resultOf({
        context,
        options,
        backend,
        training,
        record,
        metric,
        flops: graphCost(graph).flops,
        details: {
          task: options.task,
          text: text.summary,
          memory: planMemory(graph, { manifest, precision: training.precision }),
        },
      });
    }),
  );
}
