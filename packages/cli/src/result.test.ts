import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatComparison, formatRun } from "./format-result.js";
import { compareRuns, type RunResult, stepTimes } from "./result.js";
import { writeResult } from "./write-result.js";

const result: RunResult = {
  app: "demo",
  backend: "ort",
  device: "cpu",
  engine: { name: "onnxruntime", version: "1.30.0" },
  precision: "mixed",
  lossScale: "dynamic",
  masterWeights: "f32",
  seed: 42,
  steps: 2,
  applied: 2,
  skipped: 0,
  finalScale: 65536,
  loss: [2, 1],
  metric: { name: "accuracy", value: 0.5 },
  msPerStep: { min: 1, median: 2 },
  flopsPerSecond: 1e9,
  peakMemoryBytes: 100,
  emulated: ["f16"],
  details: { corpus: "[1,\n  2]" },
};

describe("stepTimes", () => {
  it("takes the middle of an odd and the mean of the two middles of an even number of steps", () => {
    expect(stepTimes([5, 1, 3])).toEqual({ min: 1, median: 3 });
    expect(stepTimes([10, 9, 2, 1])).toEqual({ min: 1, median: 5.5 });
    expect(stepTimes([4])).toEqual({ min: 4, median: 4 });
    expect(stepTimes([])).toBeNull();
  });
});

describe("compareRuns", () => {
  it("never makes up a memory figure", () => {
    expect(
      compareRuns(result, { ...result, msPerStep: { min: 1, median: 1 }, peakMemoryBytes: 50 }),
    ).toMatchObject({
      speedup: 2,
      memoryRatio: 0.5,
    });
    expect(compareRuns({ ...result, peakMemoryBytes: null }, result).memoryRatio).toBeNull();
    expect(formatComparison(compareRuns({ ...result, peakMemoryBytes: null }, result))).toContain(
      "memory not measured",
    );
  });
});

describe("formatComparison", () => {
  const native = { ...result, emulated: [] };
  const emulated = {
    ...result,
    emulated: ["ort: f16 is emulated: same results as f16, memory of f32, no faster than f32"],
  };

  it("tells a speed-up of what the engine computed natively, and of nothing else", () => {
    expect(formatComparison(compareRuns(native, native))).toContain("\nspeed-up 1.00×, memory 1.00×");
    for (const [before, after] of [
      [native, emulated],
      [emulated, native],
    ] as const) {
      const text = formatComparison(compareRuns(before, after));
      expect(text).toContain("\nemulated, so there is no speed-up to tell, memory 1.00×");
      expect(text).not.toContain("speed-up 1.00×");
    }
  });

  it("leaves the whole of a warning to the warning", () => {
    const text = formatRun(emulated);
    expect(text).toMatch(/^emulated +ort: f16 is emulated$/m);
    expect(text).not.toContain("no faster");
    expect(formatRun(native)).toMatch(/^emulated +nothing$/m);
  });
});

describe("writeResult", () => {
  it("writes what JSON.parse reads back, a line a field", () => {
    const folder = mkdtempSync(join(tmpdir(), "mp-result-"));
    const file = join(folder, "r.json");
    writeResult(file, result);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(result);
    expect(readFileSync(file, "utf8").split("\n")).toHaveLength(Object.keys(result).length + 3);
    writeResult(file, compareRuns(result, { ...result, loss: [Number.POSITIVE_INFINITY, -0] }));
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
      float32: result,
      mixed: { loss: ["Infinity", 0] },
    });
    expect(readdirSync(folder)).toEqual(["r.json"]);
    rmSync(folder, { recursive: true });
  });

  it("leaves nothing behind when it fails", () => {
    const folder = mkdtempSync(join(tmpdir(), "mp-result-"));
    expect(() => writeResult(folder, result)).toThrow();
    expect(() => writeResult(join(folder, "none/r.json"), result)).toThrow();
    expect(readdirSync(folder)).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  it.skipIf(process.platform === "win32")("writes into a pipe or device, and leaves it one", () => {
    const folder = mkdtempSync(join(tmpdir(), "mp-result-"));
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    writeResult(pipe, result);
    const bytes = Buffer.alloc(65536);
    expect(JSON.parse(bytes.toString("utf8", 0, readSync(reader, bytes)))).toEqual(result);
    closeSync(reader);
    expect(lstatSync(pipe).isFIFO()).toBe(true);
    expect(readdirSync(folder)).toEqual(["pipe"]);
    rmSync(folder, { recursive: true });
  });
});
