import { Writable } from "node:stream";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type ProgressDisplay, type ProgressStream, progressDisplay } from "./progress-display.js";
import { formatBar, formatLine } from "./progress-line.js";
import { StepRate } from "./step-rate.js";

function fake(isTTY: boolean, columns = 100): { stream: ProgressStream; written: () => string } {
  let text = "";
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return {
    stream: Object.assign(stream, { isTTY, columns, rows: 24 }) as unknown as ProgressStream,
    written: () => text,
  };
}

/** Trains 1000 steps of 20 ms each by a fake clock; the first step compiles for 3 seconds. */
function train(stream: ProgressStream, during?: (step: number, shown: ProgressDisplay) => void): void {
  let clock = 0;
  const shown = progressDisplay({ label: "float32", total: 1000 }, stream, () => clock);
  for (let step = 1; step <= 1000; step++) {
    clock += step === 1 ? 3_020 : 20;
    shown.update({ step, loss: 8 / step, scale: 2 ** 15, skipped: 3 });
    during?.(step, shown);
  }
  shown.end();
}

const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, "g");

describe("progress on a pipe", () => {
  it("writes the first state, one every five seconds and the last, without escape codes", () => {
    const { stream, written } = fake(false);
    train(stream);
    expect(written().split("\n")).toEqual([
      "float32: step 1/1000, loss 8.0000, scale 2^15, skipped 3",
      "float32: step 251/1000, loss 0.0319, scale 2^15, skipped 3, 50.0 steps/s, 0:15 left",
      "float32: step 501/1000, loss 0.0160, scale 2^15, skipped 3, 50.0 steps/s, 0:10 left",
      "float32: step 751/1000, loss 0.0107, scale 2^15, skipped 3, 50.0 steps/s, 0:05 left",
      "float32: step 1000/1000, loss 0.0080, scale 2^15, skipped 3, 50.0 steps/s",
      "",
    ]);
  });

  it("writes notes as lines and nothing when nothing happened", () => {
    const { stream, written } = fake(false);
    const shown = progressDisplay({ label: "x", total: 1 }, stream, () => 0);
    shown.note("compiled in 1 s");
    shown.end();
    expect(written()).toBe("compiled in 1 s\n");
  });
});

describe("progress on a terminal", () => {
  // The terminal that runs the tests may be another one.
  beforeEach(() => void vi.stubEnv("TERM", "xterm"));

  it("redraws one line at most ten times a second and leaves the last state", () => {
    const { stream, written } = fake(true);
    train(stream);
    const drawn = written().match(/loss/g)?.length ?? 0;
    expect(drawn).toBeGreaterThan(150);
    expect(drawn).toBeLessThanOrEqual(202);
    const last = written().replace(ESCAPES, "\n").trimEnd().split("\n").at(-1);
    expect(last).toBe(
      "float32 ████████████████████████ step 1000/1000  loss 0.0080  scale 2^15  skipped 3  50.0 steps/s",
    );
    expect(written().replace(ESCAPES, "").endsWith("\n")).toBe(true);
  });

  it("keeps notes above the bar", () => {
    const { stream, written } = fake(true);
    train(stream, (step, shown) => {
      if (step === 500) shown.note("overflow at step 500");
    });
    const plain = written().replace(ESCAPES, "\n");
    expect(plain).toMatch(/\noverflow at step 500\n+float32 /);
  });

  it("takes a dumb terminal for a pipe", () => {
    vi.stubEnv("TERM", "dumb");
    const { stream, written } = fake(true);
    train(stream);
    expect(written()).not.toMatch(ESCAPES);
  });
});

describe("formatBar", () => {
  const state = {
    label: "mixed",
    total: 300,
    step: 100,
    loss: 5.25,
    scale: 65536,
    skipped: 2,
    stepsPerSecond: 0.5,
  };

  it("fits any width", () => {
    for (let columns = 1; columns <= 160; columns++) {
      expect(formatBar(state, columns).length).toBeLessThanOrEqual(Math.max(1, columns - 1));
    }
    expect(formatBar(state, 120)).toBe(
      "mixed ████████░░░░░░░░░░░░░░░░ step 100/300  loss 5.2500  scale 2^16  skipped 2  0.500 steps/s  6:40 left",
    );
    expect(formatBar(state, 80)).toBe(
      "mixed step 100/300  loss 5.2500  scale 2^16  skipped 2  0.500 steps/s  6:40 lef".slice(0, 79),
    );
  });

  it("shows what is out of the ordinary as it is", () => {
    expect(formatLine({ ...state, loss: Number.NaN })).toContain("loss NaN");
    expect(formatLine({ ...state, loss: 1.5e-7 })).toContain("loss 1.500e-7");
    expect(formatLine({ ...state, loss: 0 })).toContain("loss 0.0000");
    expect(formatLine({ ...state, scale: 1 })).toContain("scale 1,");
    expect(formatLine({ ...state, scale: 1000.123 })).toContain("scale 1000,");
    expect(formatLine({ ...state, stepsPerSecond: undefined })).toBe(
      "mixed: step 100/300, loss 5.2500, scale 2^16, skipped 2",
    );
    expect(formatLine({ ...state, stepsPerSecond: 0.01 })).toContain("5:33:20 left");
    expect(formatBar({ ...state, step: 400, total: 300 }, 120)).toContain("█".repeat(24));
    expect(formatLine({ ...state, scale: undefined as never })).not.toContain("scale");
  });
});

describe("formatLine without a known end", () => {
  it("has the pass, and the losses of objectives by name", () => {
    const state = { label: "gan", total: undefined, step: 3, skipped: 0, stepsPerSecond: 2 };
    const line = formatLine({ ...state, loss: { d: 0.5, g: 2 }, pass: [1, 4] });
    expect(line).toBe("gan: pass 1/4, step 3, loss d 0.5000 g 2.0000, skipped 0, 2.00 steps/s");
  });
});

describe("StepRate", () => {
  it("counts from the end of the first step, which compiles, of a new run and of a resumed one", () => {
    for (const start of [0, 300]) {
      const rate = new StepRate();
      expect(rate.add(start + 1, 15_000)).toBeUndefined();
      expect(rate.add(start + 2, 15_500)).toBeCloseTo(2);
      expect(rate.add(start + 3, 16_000)).toBeCloseTo(2);
    }
  });

  it("forgets what is older than ten seconds", () => {
    const rate = new StepRate();
    expect(rate.add(101, 0)).toBeUndefined();
    expect(rate.add(102, 8_000)).toBeCloseTo(1 / 8);
    let last: number | undefined;
    for (let step = 1; step <= 20; step++) last = rate.add(102 + step, 8_000 + step * 1_000);
    expect(last).toBeCloseTo(1);
  });

  it("says nothing before time has passed", () => {
    const rate = new StepRate();
    rate.add(1, 5);
    expect(rate.add(2, 5)).toBeUndefined();
  });
});
