import { float32, mixedFloat16 } from "@mp/core";
import { reference } from "@mp/core/reference";
import { digitBatches } from "../../src/digits/batches.js";
import type { RunName } from "../../src/page/messages.js";
import { BATCH, digitTraining } from "../../src/training.js";

/** The losses of a run's next steps, continued in Node from the page's checkpoint. */
export async function resumedLosses(run: RunName, path: string, steps: number): Promise<readonly number[]> {
  await using training = await digitTraining({
    backend: await reference(),
    precision: run === "float32" ? float32() : mixedFloat16(),
    onWarning: () => undefined,
  });
  await training.load(path);
  const { iteration } = await training.counters();
  const losses: number[] = [];
  await training.fit(digitBatches(BATCH), {
    steps: iteration + steps,
    onStep: ({ loss }) => void losses.push(loss),
  });
  return losses;
}
