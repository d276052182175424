import type { RunResult } from "@mp/cli";
import { firstBatch, fitByFlags, operandBytes, type Run, resultOf } from "@mp/cli/training";
import { graphCost } from "@mp/core/graph";
import { planMemory } from "@mp/core/report";
import type { Options } from "./flags.js";
import { withTask } from "./tasks/open-task.js";
import type { Text } from "./text/load-text.js";
import { openTraining } from "./training.js";

/** One training run from its first step to its metric. */
export const runBert = (run: Run<Options>, text: Text): Promise<{ readonly result: RunResult }> =>
  withTask(run.options, text, async (task) => {
    await using training = await openTraining(task, run);
    const { batches } = task;
    const record = await fitByFlags({ ...run, training, batches });
    const metric = await task.judge(training);
    const batch = await firstBatch(batches);
    const graph = training.graph(batch);
    const { flops } = graphCost(graph);
    const { precision } = training;
    const memory = planMemory(graph, { manifest: run.backend.manifest, precision });
    const details = {
      task: run.options.task,
      text: text.summary,
      memory,
      operandBytes: operandBytes(training, batch),
    };
    return { result: await resultOf({ ...run, training, record, metric, flops, details }) };
  });
