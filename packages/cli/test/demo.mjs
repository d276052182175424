// A tiny app for the tests: it "trains" by waiting and saves its step count.
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { compareRuns, formatComparison, formatRun, integer, runApp, text, writeResult } from "@mp/cli";

await runApp(
  {
    name: "demo",
    description: "Pretends to train",
    defaults: { steps: 20 },
    flags: {
      stepMs: integer({ default: 1, min: 0, help: "milliseconds a step takes" }),
      slowFrom: integer({ default: 1_000_000, min: 0, help: "from this step on, one takes an hour" }),
      fail: text({ argument: "CODE", help: "fail at step 3, or before with early-CODE" }),
    },
  },
  async (options, context) => {
    const fail = (/** @type {string} */ code) => {
      if (code === "plain") throw new TypeError("a bug");
      throw Object.assign(new Error("it went wrong"), { name: "MpError", code });
    };
    if (options.fail?.startsWith("early-")) fail(options.fail.slice(6));
    const first = options.resume !== undefined ? Number(readFileSync(options.resume, "utf8")) : 0;
    const progress = context.progress({ label: "demo", total: options.steps, start: first });
    /** @type {number[]} */
    const loss = [];
    let step = first;
    while (step < options.steps && !context.signal.aborted) {
      await wait(step < options.slowFrom ? options.stepMs : 3_600_000);
      step++;
      loss.push(step === 7 ? Number.NaN : 1 / step);
      progress.update({ step, loss: 1 / step, scale: 65536, skipped: 1 });
      if (step === 3 && options.fail !== undefined) fail(options.fail);
    }
    if (options.save !== undefined) writeFileSync(options.save, String(step));
    /** @type {import("@mp/cli").RunResult} */
    const result = {
      app: "demo",
      backend: options.backend,
      device: options.device,
      engine: { name: "none", version: "1.0.0" },
      precision: options.precision,
      lossScale: options.lossScale ?? "none",
      masterWeights: options.masterWeights,
      seed: options.seed,
      steps: step,
      applied: step - 1,
      skipped: 1,
      finalScale: 65536,
      loss,
      metric: { name: "perplexity", value: 12.3456789 },
      msPerStep: { min: 1, median: 2 },
      flopsPerSecond: null,
      peakMemoryBytes: 3 * 2 ** 20,
      emulated: [],
    };
    const comparison = compareRuns(
      { ...result, precision: "float32" },
      { ...result, msPerStep: { min: 0.5, median: 1 } },
    );
    const { json } = options;
    context.print(options.compare ? formatComparison(comparison) : formatRun(result));
    if (json !== undefined)
      await context.attempt(`--json ${json}`, () => writeResult(json, options.compare ? comparison : result));
  },
);
