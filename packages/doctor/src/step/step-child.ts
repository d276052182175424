// A process of its own: an engine may crash or hang, and two engines share none.
import type { StepAnswer, StepTask } from "./step-task.js";
import { trainingStep } from "./training-step.js";

async function answer(): Promise<StepAnswer> {
  try {
    return await trainingStep(JSON.parse(process.argv[2] ?? "") as StepTask);
  } catch (error) {
    const { code, message, details } = error as Error & { code?: string; details?: { install?: string } };
    const install = details?.install;
    return {
      kind: "failed",
      code: code ?? "an error without a code",
      message: message ?? String(error),
      ...(install === undefined ? {} : { install }),
    };
  }
}

const result = await answer();
// The channel keeps the process alive until the answer is through.
process.send?.(result, () => process.exit(0));
