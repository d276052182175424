import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";

// The built app.
const main = fileURLToPath(new URL("../../dist/main.js", import.meta.url));
const SIZE = "--cells 16 --batch 8 --sequence 20 --vocab 200 --precision mixed_float16".split(" ");
const folder = mkdtempSync(join(tmpdir(), "mp-ranks-"));
const file = (name: string): string => join(folder, name);

afterAll(() => rmSync(folder, { recursive: true }));

function train(steps: number, ...flags: readonly string[]) {
  const json = file("result.json");
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [main, "--ranks", "2", "--steps", String(steps), ...SIZE, "--json", json, ...flags],
    { encoding: "utf8" },
  );
  expect({ status, stderr }).toMatchObject({ status: 0 });
  return { stdout, result: JSON.parse(readFileSync(json, "utf8")) as Readonly<Record<string, unknown>> };
}

it("two ranks train, print once, and go on from a checkpoint with the same bits", () => {
  const whole = train(8);
  expect(whole.stdout.match(/perplexity/g)).toHaveLength(1);
  expect(whole.result).toMatchObject({ steps: 8, details: { ranks: 2 } });
  train(4, "--save", file("half.safetensors"));
  const resumed = train(8, "--resume", file("half.safetensors"));
  expect((whole.result["loss"] as readonly number[]).slice(4)).toEqual(resumed.result["loss"]);
  expect(resumed.result["metric"]).toEqual(whole.result["metric"]);
});
