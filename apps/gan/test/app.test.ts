// The app as users call it: that its two scalers move apart, that a resumed run continues with the same bits, and what
// it refuses.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, describe, expect, it } from "vitest";
import { appRunner } from "../../../packages/cli/test/app-runner.mjs";

const SMALL = ["--width", "4", "--batch", "8", "--size", "16", "--train-images", "64", "--test-images", "64"];

const app = appRunner(new URL("../dist/main.js", import.meta.url), SMALL);
afterAll(app.dispose);
const { folder, run, result } = app;

const SCALED = ["--precision", "mixed_float16", "--discriminator-scale", "256", "--generator-scale", "512"];

describe("gan", () => {
  it.each([
    ["discriminator", { discriminator: [5, 1, 128], generator: [6, 0, 512] }],
    ["generator", { discriminator: [6, 0, 256], generator: [5, 1, 256] }],
    ["none", { discriminator: [6, 0, 256], generator: [6, 0, 512] }],
  ])("an overflow in one moves its scaler alone: %s", async (overflow, wanted) => {
    const { details } = await result(...SCALED, "--steps", "6", "--overflow", overflow);
    const numbers = Object.entries(details.networks as Record<string, Record<string, number>>).map(
      ([name, { applied, skipped, finalScale }]) => [name, [applied, skipped, finalScale]],
    );
    expect(Object.fromEntries(numbers)).toEqual(wanted);
  });

  it("goes on bit for bit from a checkpoint", async () => {
    const whole = await result(...SCALED, "--steps", "8");
    const state = join(folder, "state.safetensors");
    await result(...SCALED, "--steps", "5", "--save", state);
    const rest = await result(...SCALED, "--steps", "8", "--resume", state);
    expect(rest.loss).toEqual(whole.loss.slice(5));
    expect(rest.metric).toEqual(whole.metric);
    expect(rest.details.networks).toEqual(whole.details.networks);
  });

  it("learns: made pictures come closer to real ones", async () => {
    const size = ["--width", "8", "--batch", "16", "--train-images", "400", "--test-images", "200"];
    const { metric, details } = await result(...size, "--precision", "float32", "--steps", "60");
    expect(metric.name).toBe("Fréchet distance");
    expect(metric.value).toBeLessThan(0.95 * details.untrained);
  });

  it("recomputed activations change nothing", async () => {
    const flags = ["--precision", "float32", "--steps", "3"];
    const plain = await result(...flags);
    expect((await result(...flags, "--checkpointing")).loss).toEqual(plain.loss);
  });

  it("accumulates, compares, writes a report and a sheet", async () => {
    const [page, sheet] = [join(folder, "page.html"), join(folder, "sheet.png")];
    const flags = ["--accumulate", "2", "--compare", "--overflow", "discriminator"];
    const { float32, mixed } = await result(
      ...SCALED,
      ...flags,
      "--steps",
      "4",
      "--report",
      page,
      "--samples",
      sheet,
    );
    expect([float32.skipped, mixed.skipped, mixed.finalScale]).toEqual([1, 1, 128]);
    expect(readFileSync(page, "utf8")).toContain("<html");
    const { width, height, channels } = await sharp(sheet).metadata();
    expect([width, height, channels]).toEqual([512, 512, 3]);
    const { data } = await sharp(sheet).raw().toBuffer({ resolveWithObject: true });
    // After four steps of narrow networks pictures are nearly gray, and not all the same.
    expect(new Set(data).size).toBeGreaterThan(1);
  });

  it("prints the table", async () => {
    const path = join(folder, "table.json");
    const { status, stdout } = await run("--table", "--seeds", "1", "--steps", "2", "--json", path);
    expect(status).toBe(0);
    expect(stdout).toMatch(/ms per step +peak MiB +skipped +Fréchet distance +against float32/);
    expect(stdout.match(/^(float32|mixed_float16|mixed_bfloat16) .*±/gm)).toHaveLength(3);
    expect(JSON.parse(readFileSync(path, "utf8")).runs).toHaveLength(3);
  });

  it("refuses what is wrong in one line with exit code 2", async () => {
    const accepted = await app.notRefused([
      ["--size", "18"],
      ["--overflow", "both"],
      ["--samples", "sheet.jpg"],
      ["--samples", join(folder, "nowhere", "sheet.png")],
      ["--table", "--samples", join(folder, "sheet.png")],
      ["--seeds", "2"],
    ]);
    expect(accepted).toEqual([]);
  });
});
