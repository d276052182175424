// Runs one step in a process of its own, because an engine may crash or hang, and two engines must not share a process.
import type { StepAnswer, StepTask } from "./step-task.js";
import { trainingStep } from "./training-step.js";

async function answer(): Promise<StepAnswer> {
  try {
    return await trainingStep(JSON.parse(process.argv[2] ?? "") as StepTask);
  } catch (error) {
    // Whatever was thrown: the answer has to be JSON.
    const { code, message, details } = (error ?? {}) as Partial<
      Record<"code" | "message" | "details", unknown>
    >;
    const { install } = (details ?? {}) as { readonly install?: unknown };
    return {
      kind: "failed",
      code: typeof code === "string" ? code : "an error without a code",
      message: typeof message === "string" ? message : String(error),
      ...(typeof install === "string" ? { install } : {}),
    };
  }
}

const result = await answer();
// The channel keeps the process alive until the answer is sent.
process.send?.(result, () => process.exit(0));
