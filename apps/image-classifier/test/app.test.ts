// The app as users call it: what it learns, that a resumed run continues with the same bits, and what it refuses.
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { appRunner } from "../../../packages/cli/test/app-runner.mjs";

const SMALL = ["--width", "4", "--batch", "8", "--size", "16", "--train-images", "64", "--test-images", "20"];

const app = appRunner(new URL("../dist/main.js", import.meta.url), SMALL);
afterAll(app.dispose);
const { folder, run, result } = app;

describe("image-classifier", () => {
  it("learns to tell ten plain figures apart, far above chance", async () => {
    const size = ["--model", "vgg", "--width", "8", "--batch", "16", "--steps", "150"];
    const images = ["--difficulty", "0", "--train-images", "400", "--test-images", "200"];
    const { metric, loss } = await result(...size, ...images);
    expect(metric.name).toBe("test accuracy");
    expect(metric.value).toBeGreaterThan(0.4);
    expect(loss.at(-1)).toBeLessThan(0.8 * loss[0]);
  });

  it("trains the same with batches made ahead as without", async () => {
    const flags = ["--model", "vgg", "--steps", "5"];
    const { loss } = await result(...flags, "--prefetch", "3");
    expect(loss).toEqual((await result(...flags, "--prefetch", "0")).loss);
  });

  it("goes on bit for bit where Ctrl-C stopped it", async () => {
    const flags = ["--model", "vgg", "--precision", "mixed_float16", "--steps", "20"];
    const whole = await result(...flags);
    const state = join(folder, "state.safetensors");
    const status = app.interrupted(...flags, "--save", state);
    expect([status, existsSync(state)]).toEqual([130, true]);
    const { loss, steps } = await result(...flags, "--resume", state);
    expect([steps, loss.length < 20]).toEqual([20, true]);
    expect(loss).toEqual(whole.loss.slice(-loss.length));
  });

  it("compares both precisions from one start, by hand as by policy", async () => {
    const flags = ["--model", "alexnet", "--precision", "mixed_float16", "--compare", "--steps", "3"];
    const { float32, mixed } = await result(...flags);
    const manual = await result(...flags, "--manual");
    expect(float32.loss[0]).toBeCloseTo(mixed.loss[0], 2);
    expect(float32.loss).not.toEqual(mixed.loss);
    expect(manual.mixed.loss).toEqual(mixed.loss);
    expect([mixed.precision, manual.mixed.precision]).toEqual(["mixed_float16", "manual(f16)"]);
  });

  it("prints the table", async () => {
    const path = join(folder, "table.json");
    const { status, stdout } = await run("--table", "--seeds", "1", "--steps", "2", "--json", path);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^net +float32 +mixed_float16 +difference +mixed_bfloat16 +difference$/m);
    expect(stdout.match(/^(resnet20|vgg|alexnet) .*±/gm)).toHaveLength(3);
    const { table, runs } = JSON.parse(readFileSync(path, "utf8"));
    expect([table.length, runs.length, runs[0].loss.length]).toEqual([9, 9, 2]);
  });

  it("prints what each technique is worth", async () => {
    const path = join(folder, "ablation.json");
    const flags = ["--model", "vgg", "--seeds", "2", "--steps", "2", "--json", path];
    const { status, stdout } = await run("--ablation", ...flags);
    expect([status, stdout.match(/±/g)?.length]).toEqual([0, 9]);
    const { ablation, runs } = JSON.parse(readFileSync(path, "utf8"));
    expect(ablation.map(({ name }: { name: string }) => name)).toEqual([
      "float32",
      "mixed_float16",
      "--master-weights none",
      "--loss-scale none",
      "--half-reductions",
    ]);
    const kinds = runs.map((each: Record<string, unknown>) =>
      ["precision", "lossScale", "masterWeights"].map((field) => each[field]).join(" "),
    );
    expect(kinds).toEqual(
      [
        "float32 none f32",
        "mixed_float16 dynamic f32",
        "mixed_float16 dynamic none",
        "mixed_float16 none f32",
        "mixed_float16+half-reductions dynamic f32",
      ].flatMap((kind) => [kind, kind]),
    );
    expect(runs.map(({ seed }: { seed: number }) => seed).slice(0, 4)).toEqual([42, 43, 42, 43]);
  });

  it("reads real files, and refuses what is wrong in one line with exit code 2", async () => {
    const data = mkdtempSync(join(folder, "cifar-"));
    const records = (count: number) =>
      Buffer.concat(
        Array.from({ length: count }, (_, index) =>
          Buffer.concat([Buffer.of(index % 10), Buffer.alloc(3072, 9 * index)]),
        ),
      );
    writeFileSync(join(data, "data_batch_1.bin"), records(20));
    writeFileSync(join(data, "test_batch.bin"), records(10));
    const { details } = await result("--data", data, "--steps", "2");
    expect(details.data).toMatchObject({ train: 20, test: 10, shape: [3, 32, 32] });
    writeFileSync(join(data, "test_batch.bin"), records(10).subarray(0, 5000));
    const wide = mkdtempSync(join(folder, "wide-"));
    const idx = (shape: readonly number[]) => {
      const header = Buffer.from([0, 0, 8, shape.length, ...shape.flatMap((size) => [0, 0, 0, size])]);
      return Buffer.concat([header, Buffer.alloc(shape.reduce((a, b) => a * b, 1))]);
    };
    for (const part of ["train", "t10k"]) {
      writeFileSync(join(wide, `${part}-images-idx3-ubyte`), idx([20, 16, 20]));
      writeFileSync(join(wide, `${part}-labels-idx1-ubyte`), idx([20]));
    }
    const accepted = await app.notRefused([
      ["--data", data],
      ["--data", join(folder, "nowhere")],
      ["--model", "resnet18"],
      ["--manual", "--precision", "float32"],
      ["--half-reductions", "--precision", "float32"],
      ["--table", "--compare"],
      ["--table", "--ablation"],
      ["--seeds", "2"],
      ["--table", "--seeds", "9007199254740991"],
      ["--ablation", "--seed", "9007199254740991"],
      ["--batch", "65"],
      ["--data", wide],
    ]);
    expect(accepted).toEqual([]);
  });
});
