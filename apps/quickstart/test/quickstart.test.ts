import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { RunResult } from "@mp/cli";
import { afterAll, afterEach, describe, expect, it } from "vitest";

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

/** Removes layout: the formatter may break lines, and puts a comma before a bracket on a new line. */
const withoutLayout = (source: string): string => source.replace(/\s+/g, "").replace(/,(?=[)\]}])/g, "");

describe("the program", () => {
  it("is the one of docs/install.md", () => {
    const page = readFileSync(join(app, "../../docs/install.md"), "utf8");
    const block = /<!-- program -->\s*```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
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

  describe("report", () => {
    const page = join(scratch, "report.html");
    const read = (): string => readFileSync(page, "utf8");
    const skips = (): number => Number(/<dt>skipped steps<\/dt><dd>(\d+)<\/dd>/.exec(read())?.[1]);
    afterEach(() => rmSync(page, { force: true }));

    it("writes a page of the run, which changes no number", async () => {
      const flags = ["--precision", "mixed_float16", "--initial-scale", String(2 ** 24), "--steps", "20"];
      const plain = await resultOf(...flags);
      const reported = await resultOf(...flags, "--report", page);
      expect([reported.loss, reported.finalScale, reported.peakMemoryBytes]).toEqual([
        plain.loss,
        plain.finalScale,
        plain.peakMemoryBytes,
      ]);
      expect(plain.skipped).toBeGreaterThan(0);
      expect(skips()).toBe(plain.skipped);
      expect(read()).toContain("<b>scale too high</b>");
      expect(readdirSync(scratch).filter((file) => file.includes("report"))).toEqual(["report.html"]);
    });

    it("of a comparison is the mixed run's", async () => {
      const { code } = await run(
        "main",
        "--compare",
        "--precision",
        "mixed_float16",
        "--steps",
        "5",
        "--report",
        page,
      );
      expect([code, /<dt>precision<\/dt><dd>([^<]*)/.exec(read())?.[1]]).toEqual([0, "mixed_float16"]);
    });

    it("is written of a run that fails for its skips, with what was replayed", async () => {
      const flags = ["--precision", "mixed_float16", "--loss-scale", "1e30", "--steps", "100"];
      const { code, stderr } = await run("main", ...flags, "--report", page);
      expect([code, stderr.includes("MP_NON_FINITE")]).toEqual([1, true]);
      expect([skips(), read().match(/<b>scale too high<\/b><\/td>/g)?.length]).toEqual([50, 20]);
      expect(read()).toContain("30 further skipped steps not replayed");
    });

    it("is written after Ctrl-C", () => {
      const entry = join(app, "dist", "main.js");
      const stop = ["--import", "@mp/build/interrupt-at-first-step"];
      const flags = ["--steps", "1000000", "--report", page];
      expect(spawnSync(process.execPath, [...stop, entry, ...flags]).status).toBe(130);
      expect(read()).toContain("</html>");
    });

    it("to where there is no folder is refused before a step", async () => {
      const { code, stderr } = await run("main", "--report", join(scratch, "none", "x.html"));
      expect([code, stderr.includes("no such directory"), stderr.includes("step ")]).toEqual([
        2,
        true,
        false,
      ]);
    });
  });

  it("says what it has no use for", async () => {
    const { code, stderr } = await run("main", "--data", scratch);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^quickstart: --data .*: the quickstart makes its points itself, leave it out\n$/);
  });
});
