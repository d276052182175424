import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { RunResult } from "@mp/cli";
import { afterAll, describe, expect, it } from "vitest";

const app = join(import.meta.dirname, "..");
const scratch = mkdtempSync(join(tmpdir(), "quickstart-"));
afterAll(() => rmSync(scratch, { recursive: true }));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(entry: "main" | "program", ...flags: readonly string[]): Promise<Ended> {
  const call = promisify(execFile)(process.execPath, [join(app, "dist", `${entry}.js`), ...flags]);
  return call.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Ended) => error,
  );
}

async function resultOf(...flags: readonly string[]): Promise<RunResult> {
  const json = join(scratch, "result.json");
  const { code, stderr } = await run("main", "--json", json, ...flags);
  expect(stderr).not.toMatch(/Error/);
  expect(code).toBe(0);
  return JSON.parse(readFileSync(json, "utf8"));
}

/** The formatter may break lines, and puts a comma before a bracket on a line of its own. */
const withoutLayout = (source: string): string => source.replace(/\s+/g, "").replace(/,(?=[)\]}])/g, "");

describe("the program", () => {
  it("is the README's", () => {
    const readme = readFileSync(join(app, "../../README.md"), "utf8");
    const block = /<!-- program -->\s*```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
    const program = readFileSync(join(app, "src/program.ts"), "utf8");
    expect(withoutLayout(program)).toBe(withoutLayout(block));
  });

  it("computes what the app computes without a flag", async () => {
    const { stdout } = await run("program");
    const losses = [...stdout.matchAll(/loss: ([\d.]+)/g)].map(([, loss]) => Number(loss));
    const { loss, metric } = await resultOf();
    expect(losses).toEqual([loss[49], loss[99], loss[149], loss[199]]);
    expect(losses.at(-1)).toBeLessThan(0.1);
    expect(metric.value).toBeGreaterThan(0.97);
  });
});

describe("flags", () => {
  it("checkpointing changes no number", async () => {
    const plain = await resultOf("--steps", "20");
    expect((await resultOf("--steps", "20", "--checkpointing")).loss).toEqual(plain.loss);
  });

  it("a resumed run is the run that was not stopped, to the bit", async () => {
    const file = join(scratch, "state.safetensors");
    const flags = ["--precision", "mixed_float16", "--initial-scale", String(2 ** 20)];
    const whole = await resultOf(...flags, "--steps", "30");
    const first = await resultOf(...flags, "--steps", "12", "--save", file);
    const rest = await resultOf(...flags, "--steps", "30", "--resume", file);
    expect([...first.loss, ...rest.loss]).toEqual(whole.loss);
    expect(rest.skipped).toBe(whole.skipped);
    expect(rest.metric).toEqual(whole.metric);
  });

  it("accumulated microbatches count as one step", async () => {
    const { steps, loss } = await resultOf("--steps", "10", "--accumulate", "4");
    expect([steps, loss.length]).toEqual([10, 10]);
  });

  it("says what it has no use for", async () => {
    const { code, stderr } = await run("main", "--data", scratch);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^quickstart: --data .*: the quickstart makes its points itself, leave it out\n$/);
  });
});
