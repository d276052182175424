import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { appRunner } from "../../../packages/cli/test/app-runner.mjs";

const root = join(import.meta.dirname, "..");
const app = appRunner(new URL("../dist/main.js", import.meta.url));
afterAll(app.dispose);
const { folder, run, result } = app;

/** Removes layout: the formatter may break lines, and puts a comma before a bracket on a new line. */
const withoutLayout = (source: string): string => source.replace(/\s+/g, "").replace(/,(?=[)\]}])/g, "");

describe("the program", () => {
  it("is the one of docs/install.md", () => {
    const page = readFileSync(join(root, "../../docs/install.md"), "utf8");
    const block = /<!-- program -->\s*```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    const program = readFileSync(join(root, "src/program.ts"), "utf8");
    expect(withoutLayout(program)).toBe(withoutLayout(block));
  });

  it("computes what the app computes without a flag", async () => {
    const stdout = execFileSync(process.execPath, [join(root, "dist/program.js")], { encoding: "utf8" });
    const losses = [...stdout.matchAll(/loss: ([\d.]+)/g)].map(([, loss]) => Number(loss));
    const { loss, metric } = await result();
    expect(losses).toEqual([loss[49], loss[99], loss[149], loss[199]]);
    expect(losses.at(-1)).toBeLessThan(0.1);
    expect(metric.value).toBeGreaterThan(0.97);
  });
});

describe("flags", () => {
  it("checkpointing changes no number", async () => {
    const plain = await result("--steps", "20");
    expect((await result("--steps", "20", "--checkpointing")).loss).toEqual(plain.loss);
  });

  it("a resumed run is the run that was not stopped, to the bit", async () => {
    const file = join(folder, "state.safetensors");
    const flags = ["--precision", "mixed_float16", "--initial-scale", String(2 ** 20)];
    const whole = await result(...flags, "--steps", "30");
    const first = await result(...flags, "--steps", "12", "--save", file);
    const rest = await result(...flags, "--steps", "30", "--resume", file);
    expect([...first.loss, ...rest.loss]).toEqual(whole.loss);
    expect(rest.skipped).toBe(whole.skipped);
    expect(rest.metric).toEqual(whole.metric);
  });

  it("accumulated microbatches count as one step", async () => {
    const { steps, loss } = await result("--steps", "10", "--accumulate", "4");
    expect([steps, loss.length]).toEqual([10, 10]);
  });

  describe("report", () => {
    const page = join(folder, "report.html");
    const read = (): string => readFileSync(page, "utf8");
    const skips = (): number => Number(/<dt>skipped steps<\/dt><dd>(\d+)<\/dd>/.exec(read())?.[1]);
    afterEach(() => rmSync(page, { force: true }));

    it("writes a page of the run, which changes no number", async () => {
      const flags = ["--precision", "mixed_float16", "--initial-scale", String(2 ** 24), "--steps", "20"];
      const plain = await result(...flags);
      const reported = await result(...flags, "--report", page);
      expect([reported.loss, reported.finalScale, reported.peakMemoryBytes]).toEqual([
        plain.loss,
        plain.finalScale,
        plain.peakMemoryBytes,
      ]);
      expect(plain.skipped).toBeGreaterThan(0);
      expect(skips()).toBe(plain.skipped);
      expect(read()).toContain("<b>scale too high</b>");
      expect(readdirSync(folder).filter((file) => file.includes("report"))).toEqual(["report.html"]);
    });

    it("of a comparison is the mixed run's", async () => {
      const { status } = await run(
        "--compare",
        "--precision",
        "mixed_float16",
        "--steps",
        "5",
        "--report",
        page,
      );
      expect([status, /<dt>precision<\/dt><dd>([^<]*)/.exec(read())?.[1]]).toEqual([0, "mixed_float16"]);
    });

    it("is written of a run that fails for its skips, with what was replayed", async () => {
      const flags = ["--precision", "mixed_float16", "--loss-scale", "1e30", "--steps", "100"];
      const { status, stderr } = await run(...flags, "--report", page);
      expect([status, stderr.includes("MP_NON_FINITE")]).toEqual([1, true]);
      expect([skips(), read().match(/<b>scale too high<\/b><\/td>/g)?.length]).toEqual([50, 20]);
      expect(read()).toContain("30 further skipped steps not replayed");
    });

    it("is written after Ctrl-C", () => {
      expect(app.interrupted("--steps", "1000000", "--report", page)).toBe(130);
      expect(read()).toContain("</html>");
    });

    it("to where there is no folder is refused before a step", async () => {
      const { status, stderr } = await run("--report", join(folder, "none", "x.html"));
      expect([status, stderr.includes("no such directory"), stderr.includes("step ")]).toEqual([
        2,
        true,
        false,
      ]);
    });
  });

  it("says what it has no use for", async () => {
    const { status, stderr } = await run("--data", folder);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^quickstart: --data .*: the quickstart makes its points itself, leave it out\n$/);
  });
});
