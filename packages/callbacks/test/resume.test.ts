import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadParameters } from "@mp/core";
import type { FitCallback, FitTraining } from "@mp/core/fit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { csvLog, earlyStopping, jsonLinesLog, keepBest, reduceOnPlateau, rotate } from "../src/index.js";
import { batches, smallRun } from "./small-run.js";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-callbacks-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** One run with everything that has a state; another callback may save and stop it. */
async function run(name: string, { from, more = [] }: { from?: string; more?: FitCallback<"error">[] } = {}) {
  const training = await smallRun({ learningRate: 0.9 });
  if (from !== undefined) await training.load(from);
  const seen: unknown[] = [];
  const stopping = earlyStopping({ patience: 4, minDelta: 0.001 });
  const best = keepBest({ path: join(folder, `${name}.best`) });
  const result = await training.fit(batches(3), {
    epochs: 12,
    validation: { data: batches(2, 7) },
    callbacks: [
      // The saving callback precedes the callbacks whose state it saves.
      ...more,
      best,
      keepBest({ path: join(folder, `${name}.smallest`), monitor: "error", mode: "min" }),
      rotate({ folder: join(folder, `${name}.rotated`), every: 4, keep: 2 }),
      reduceOnPlateau({ patience: 2, factor: 0.5, cooldown: 1 }),
      stopping,
      csvLog(join(folder, `${name}.csv`)),
      jsonLinesLog(join(folder, `${name}.jsonl`)),
      {
        onStep: ({ step, rates, loss }) => void seen.push([step, rates, loss]),
        onValidation: ({ step, loss }) => void seen.push(["validation", step, loss]),
      },
    ],
  });
  const { parameters, counters } = {
    parameters: await training.parameters(),
    counters: await training.counters(),
  };
  return { seen, best: [stopping.best, best.best], result, state: { parameters, counters }, training };
}

const logOf = async (name: string) => {
  const csv = await readFile(join(folder, `${name}.csv`), "utf8");
  const lines = await readFile(join(folder, `${name}.jsonl`), "utf8");
  // Times of steps differ from run to run.
  const withoutTimes = csv
    .split("\n")
    .map((line) => line.split(","))
    .map((cells) => cells.filter((_, index) => index !== 3));
  return [withoutTimes, lines.replaceAll(/"milliseconds":[^,]*,/g, "")];
};

/** The weights in the file that was kept. */
const weightsOf = async (name: string) => {
  const training = await smallRun();
  return loadParameters(join(folder, name), { params: await training.parameters() });
};

it("continues with the same bits from any step, with every callback that has a state", async () => {
  const whole = await run("whole");
  expect(whole.result.ended).toBe("stopped");
  const steps = whole.result.steps;
  expect(steps).toBeGreaterThan(12);
  // The rates were reduced more than once on the way.
  const rates = new Set(whole.seen.flatMap((event) => JSON.stringify((event as unknown[])[1])));
  expect(rates.size).toBeGreaterThan(3);
  // Resumes in the middle of a pass, at its end, and while callbacks wait for an improvement.
  for (let at = 1; at < steps; at += 2) {
    const name = `from-${at}`;
    const path = join(folder, `${name}.saved`);
    let training: FitTraining | undefined;
    const saving: FitCallback<"error"> = {
      onStart: (start) => {
        training = start.training;
      },
      // Saves after step `at`; at the end of a pass, after its validation.
      afterCallbacks: async ({ step }) => {
        if (step === at) await training?.save(path);
      },
      onStep: ({ step }) => (step === at + 1 ? "stop" : undefined),
    };
    await run(name, { more: [saving] });
    // `rotate` saved at the step where the run was stopped.
    await rm(join(folder, `${name}.rotated`, `step-${at + 1}.safetensors`), { force: true });
    const resumed = await run(name, { from: path });
    expect(resumed.state).toEqual(whole.state);
    expect(resumed.best).toEqual(whole.best);
    expect(resumed.result).toMatchObject({ steps, ended: "stopped" });
    expect(resumed.seen).toEqual(whole.seen.slice(-resumed.seen.length));
    expect(await logOf(name)).toEqual(await logOf("whole"));
    for (const file of ["best", "smallest"]) {
      expect(await weightsOf(`${name}.${file}`)).toEqual(await weightsOf(`whole.${file}`));
    }
    const left = (await readdir(join(folder, `${name}.rotated`))).sort();
    expect(left).toEqual((await readdir(join(folder, "whole.rotated"))).sort());
  }
});
