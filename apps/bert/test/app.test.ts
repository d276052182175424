// Tests the app as users call it: what it learns, the effects of the memory techniques, and what it refuses.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { appRunner } from "../../../packages/cli/test/app-runner.mjs";

const flags = (text: string): readonly string[] => text.split(" ");
const SMALL = flags("--layers 1 --size 32 --heads 2 --sequence 32 --batch 8 --vocab 300 --precision float32");

const app = appRunner(new URL("../dist/main.js", import.meta.url), SMALL);
afterAll(app.dispose);
const { folder } = app;

/** Two sources of plain sentences: the app's own text takes longer to read than most of these runs. */
const data = join(folder, "text");
for (const name of ["birds", "stones"]) {
  mkdirSync(join(data, name), { recursive: true });
  const sentences = Array.from(
    { length: 900 },
    (_, i) => `The ${name} number ${"abcdefghij"[i % 10]} are here.`,
  );
  writeFileSync(join(data, name, "text.txt"), sentences.join("\n\n"));
}

const run = (...own: readonly string[]) => app.run("--data", data, ...own);
const result = (...own: readonly string[]) => app.result("--data", data, ...own);

const numbers = (list: unknown): readonly number[] => list as readonly number[];

describe("bert", () => {
  it("learns to predict hidden pieces", async () => {
    const { metric, loss, details } = await app.result(...flags("--steps 60 --learning-rate 0.01"));
    expect(metric.name).toBe("perplexity of hidden pieces");
    // Before training, all 300 pieces are equally likely.
    expect(loss[0]).toBeCloseTo(Math.log(300), 1);
    expect(metric.value).toBeLessThan(200);
    expect(details.text.sources).toHaveLength(6);
  });

  it("accumulates 16 microbatches of 4 as one batch of 64: the same losses", async () => {
    const common = flags("--steps 4 --dropout 0 --learning-rate 0.01");
    const whole = await result(...common, "--batch", "64");
    const micro = await result(...common, "--batch", "4", "--accumulate", "16");
    expect(micro.loss).toHaveLength(4);
    expect(whole.loss[3]).toBeLessThan(whole.loss[0] - 0.05);
    for (const [index, loss] of numbers(whole.loss).entries())
      expect(Math.abs((numbers(micro.loss)[index] as number) - loss)).toBeLessThan(2e-4);
    expect(micro.metric.value / whole.metric.value).toBeCloseTo(1, 3);
    expect(micro.peakMemoryBytes).toBeLessThan(0.5 * whole.peakMemoryBytes);
  });

  it("gives the same losses with --checkpointing, dropout included, in less memory", async () => {
    const common = flags("--steps 2 --layers 6 --size 64 --batch 16 --sequence 64");
    const kept = await result(...common);
    const recomputed = await result(...common, "--checkpointing");
    expect(recomputed.loss).toEqual(kept.loss);
    expect(recomputed.peakMemoryBytes).toBeLessThan(0.6 * kept.peakMemoryBytes);
    const off = ({ peakMemoryBytes, details }: typeof kept): number =>
      Math.abs(details.memory.peak / peakMemoryBytes - 1);
    expect(off(kept)).toBeLessThan(0.15);
    // In layers this small, the kernels' own workspace is a larger part.
    expect(off(recomputed)).toBeLessThan(0.3);
  });

  it("tells sources apart, and starts from a pretrained encoder", async () => {
    const state = join(folder, "pretrained.safetensors");
    const model = flags("--batch 16 --dropout 0");
    await result(...model, ...flags("--steps 20"), "--save", state);
    const common = flags("--task classify --steps 60 --learning-rate 0.003");
    const { metric, details, loss } = await result(...model, ...common, "--from", state);
    expect([metric.name, details.task]).toEqual(["test accuracy", "classify"]);
    // Each of the two sources has half of the sequences.
    expect(metric.value).toBeGreaterThan(0.9);
    const alone = await result(...model, ...flags("--task classify --steps 1"));
    expect(loss[0]).not.toBe(alone.loss[0]);
  });

  it("goes on with the same bits where Ctrl-C stopped it", async () => {
    const common = flags("--precision mixed_float16 --steps 20");
    const whole = await result(...common);
    const state = join(folder, "state.safetensors");
    const status = app.interrupted("--data", data, ...common, "--save", state);
    expect([status, existsSync(state)]).toEqual([130, true]);
    const { loss, steps } = await result(...common, "--resume", state);
    expect([steps, loss.length < 20]).toEqual([20, true]);
    expect(loss).toEqual(whole.loss.slice(-loss.length));
  });

  it("trains with products of 4 bits", async () => {
    const plain = await result(...flags("--steps 3"));
    const quantized = await result(...flags("--steps 3 --precision nvfp4"));
    expect([quantized.precision, quantized.emulated[0]]).toEqual(["nvfp4", expect.stringContaining("nvfp4")]);
    expect(quantized.loss).not.toEqual(plain.loss);
    expect(quantized.loss[2]).toBeCloseTo(plain.loss[2], 1);
    expect(quantized.details.operandBytes).toBeLessThan(plain.details.operandBytes);
  });

  it("prints the table and the ablation", async () => {
    const table = join(folder, "table.json");
    const first = await run("--table", "--seeds", "1", "--steps", "2", "--json", table);
    expect(first.status).toBe(0);
    expect(first.stdout).toMatch(/ms per step +peak MiB +perplexity of hidden pieces +against float32/);
    expect(first.stdout.match(/^(float32|mixed_float16|mixed_bfloat16) .*±/gm)).toHaveLength(3);
    expect(JSON.parse(readFileSync(table, "utf8")).runs).toHaveLength(3);
    const ablation = await run("--ablation", "--seeds", "1", "--steps", "2", "--precision", "mixed_float16");
    expect([ablation.status, ablation.stdout.match(/±/g)?.length]).toEqual([0, 9]);
  });

  it("estimates memory as the engine measures it, and what fits a budget", async () => {
    const path = join(folder, "memory.json");
    const { status, stdout } = await run(
      "--memory",
      "--batch",
      "16",
      "--precision",
      "mixed_float16",
      "--json",
      path,
    );
    expect(status).toBe(0);
    expect(stdout.match(/^(float32|mixed_float16).*%/gm)).toHaveLength(8);
    const { memory } = JSON.parse(readFileSync(path, "utf8"));
    // Layers this small show the size of the error, not its share at a real size, which the README has.
    for (const { measured, tensors } of memory) {
      expect(measured.planned.peak / tensors).toBeGreaterThan(0.5);
      expect(measured.planned.peak / tensors).toBeLessThan(1.15);
    }
    const budget = await run("--layers", "2", "--budget", "3.5MiB");
    const [plain, accumulated, checkpointed] = budget.stdout
      .split("\n")
      .slice(1)
      .map((line) => Number(/ (\d+)( +\d+)?$/.exec(line.trimEnd())?.[1]));
    expect(plain).toBeGreaterThan(8);
    expect(accumulated).toBeLessThanOrEqual(plain as number);
    expect(checkpointed).toBeGreaterThan(plain as number);
  });

  it("reads folders as sources, and refuses what is wrong in one line with exit code 2", async () => {
    const { details } = await result(...flags("--task classify --steps 2"));
    expect(details.text.sources.map(({ name }: { name: string }) => name)).toEqual(["birds", "stones"]);
    const refused = [
      ["--data", join(folder, "nowhere")],
      ["--data", join(data, "birds"), "--task", "classify"],
      ["--heads", "5"],
      ["--batch", "100000"],
      ["--budget", "much"],
      ["--half-reductions"],
      ["--table", "--compare"],
      ["--memory", "--save", join(folder, "x")],
      ["--memory", "--batch", "3"],
      ["--seeds", "2"],
      ["--from", join(folder, "missing")],
    ];
    const accepted = await app.notRefused(refused.map((own) => ["--data", data, ...own]));
    expect(accepted).toEqual([]);
  });
});
