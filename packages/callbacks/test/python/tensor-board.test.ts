import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tensorBoard } from "../../src/index.js";
import { batches, smallRun } from "../small-run.js";

const PYTHON = process.env["MP_PYTHON"] ?? "";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-tensorboard-"));
});
afterAll(() => rm(folder, { recursive: true }));

interface Read {
  readonly version: string;
  readonly scalars: Readonly<Record<string, readonly (readonly [step: number, value: number])[]>>;
  readonly histograms: Readonly<
    Record<
      string,
      readonly (readonly [step: number, num: number, limits: readonly number[], counts: readonly number[]])[]
    >
  >;
  readonly texts: Readonly<Record<string, readonly (readonly [step: number, text: string])[]>>;
}

const read = (path: string): Read =>
  JSON.parse(
    execFileSync(PYTHON, ["test/read-events.py", path], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );

describe("TensorBoard's own reader", () => {
  it("reads scalars, texts and histograms back", async () => {
    const path = join(folder, "whole");
    const training = await smallRun();
    const steps: [number, number][] = [];
    const validations: [number, number][] = [];
    await training.fit(batches(3), {
      epochs: 2,
      validation: { data: batches(2, 7) },
      callbacks: [
        tensorBoard(path, {
          text: { settings: "learning rate **0.5**" },
          histograms: { every: 2, report: (batch) => training.precisionReport(batch) },
        }),
        {
          onStep: ({ step, loss }) => void steps.push([step, Math.fround(loss)]),
          onValidation: ({ step, loss }) => void validations.push([step, Math.fround(loss)]),
        },
      ],
    });
    const { version, scalars, histograms, texts } = read(path);
    console.log(`tensorboard ${version}`);
    expect(scalars["train/loss"]).toEqual(steps);
    expect(scalars["validation/loss"]).toEqual(validations);
    expect(scalars["train/rates/default"]?.[0]).toEqual([1, 0.5]);
    expect(Object.keys(scalars)).toEqual(
      expect.arrayContaining(["train/error", "validation/error", "train/scale"]),
    );
    expect(texts["settings"]).toEqual([[0, "learning rate **0.5**"]]);
    const [tag = ""] = Object.keys(histograms).filter((name) =>
      name.startsWith("exponents/weight gradients/w"),
    );
    const written = histograms[tag] ?? [];
    expect(written.map(([step]) => step)).toEqual([2, 4, 6]);
    const report = await training.precisionReport(batches(3)[2] as never);
    const group = report.groups.find(({ kind }) => kind === "weight gradients");
    expect(written[2]?.[3]).toHaveLength(written[2]?.[2].length ?? -1);
    // The weights of that report are those after step 6.
    expect(written[2]?.[3]).toEqual(group?.histogram.counts);
    expect(written[2]?.[2]?.[0]).toBe((group?.histogram.first ?? 0) + 1);
  });

  it("shows a step once that a killed run made and the resumed one makes again", async () => {
    const path = join(folder, "resumed");
    const saved = join(folder, "saved");
    const losses: [number, number][] = [];
    const validation = { data: batches(1, 7) };
    const first = await smallRun();
    await first.fit(batches(3), {
      steps: 7,
      validation,
      callbacks: [
        tensorBoard(path),
        // Saves before the validation at the end of the pass.
        { onStep: async ({ step }) => (step === 3 ? first.save(saved) : undefined) },
      ],
    });
    const [file = ""] = await readdir(path);
    // Cuts off the file, as a process does that is killed while it writes.
    await truncate(join(path, file), (await import("node:fs")).statSync(join(path, file)).size - 9);
    expect(read(path).scalars["train/loss"]?.map(([step]) => step)).toEqual([1, 2, 3, 4, 5, 6]);
    const second = await smallRun();
    await second.load(saved);
    await second.fit(batches(3), {
      epochs: 3,
      validation,
      callbacks: [
        tensorBoard(path),
        { onStep: ({ step, loss }) => void losses.push([step, Math.fround(loss)]) },
      ],
    });
    const { scalars } = read(path);
    expect(scalars["train/loss"]?.map(([step]) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(scalars["train/loss"]?.slice(3)).toEqual(losses);
    expect(scalars["validation/loss"]?.map(([step]) => step)).toEqual([3, 6, 9]);
  });
});
