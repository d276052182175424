import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { appRunner } from "../../../packages/cli/test/app-runner.mjs";

const SMALL = ["--size", "16", "--layers", "1", "--batch", "8", "--pairs", "200", "--test-pairs", "8"];
const app = appRunner(new URL("../dist/main.js", import.meta.url), SMALL);
afterAll(app.dispose);
const { folder, run, result } = app;

describe("a small run", () => {
  it("learns, and is judged on unseen sentences", async () => {
    const { loss, metric, details } = await result(
      "--steps",
      "60",
      "--warmup",
      "10",
      "--learning-rate",
      "0.01",
    );
    expect(loss.at(-1)).toBeLessThan(loss[0] - 0.5);
    expect(metric.name).toBe("BLEU");
    expect(details).toMatchObject({ exactMatch: expect.any(Number), data: { train: 200, test: 8 } });
  });

  it("goes on from a checkpoint with the same bits, with dropout and in a half", async () => {
    const file = join(folder, "state.safetensors");
    const flags = ["--precision", "mixed_float16", "--dropout", "0.2", "--initial-scale", "16777216"];
    const whole = await result(...flags, "--steps", "12");
    const first = await result(...flags, "--steps", "5", "--save", file);
    const rest = await result(...flags, "--steps", "12", "--resume", file);
    expect([...first.loss, ...rest.loss]).toEqual(whole.loss);
    expect(rest.metric).toEqual(whole.metric);
  });

  it("recomputes activations without another number", async () => {
    const plain = await result("--steps", "4");
    expect((await result("--steps", "4", "--checkpointing")).loss).toEqual(plain.loss);
  });

  it("prints the tables", async () => {
    const flags = ["--steps", "2", "--seeds", "1"];
    const table = await run("--table", ...flags);
    expect(table.stdout).toMatch(/float32[\s\S]*mixed_float16[\s\S]*mixed_bfloat16/);
    expect(table.stdout).toContain("peak, MiB");
    const ablation = await run("--ablation", ...flags);
    expect(ablation.stdout).toContain("--half-reductions");
  });
});

it.each([
  [["--heads", "3"], "--heads 3: does not divide --size 16"],
  [["--table", "--compare"], "--table trains many networks: it goes without --compare"],
  [["--data", "/nowhere.tsv"], "/nowhere.tsv"],
])("refuses %j", async (flags, message) => {
  const { status, stderr } = await run(...flags);
  expect([status, stderr]).toEqual([2, expect.stringContaining(message)]);
});
