import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { saveOnSignal } from "../src/index.js";
import { batches, smallRun } from "./small-run.js";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-signal-"));
});
afterAll(() => rm(folder, { recursive: true }));

it.each(["SIGINT", "SIGTERM"] as const)(
  "ends after the step at %s, saves, and leaves no handler",
  async (name) => {
    const path = join(folder, name);
    const training = await smallRun();
    const saving = saveOnSignal(path);
    const before = process.listenerCount(name);
    const result = await training.fit(batches(3), {
      epochs: 9,
      callbacks: [saving, { onStep: ({ step }) => void (step === 4 && process.emit(name, name)) }],
    });
    expect(result).toEqual({ steps: 5, made: 5, ended: "stopped" });
    expect(saving.signal).toBe(name);
    expect(process.listenerCount(name)).toBe(before);
    const resumed = await smallRun();
    await resumed.load(path);
    const whole = await smallRun();
    await whole.fit(batches(3), { epochs: 3 });
    await resumed.fit(batches(3), { epochs: 3 });
    expect(await resumed.parameters()).toEqual(await whole.parameters());
  },
);

it("ends the process at a second signal, unless it is the same press", async () => {
  const exit = vi.spyOn(process, "exit").mockImplementation((code) => {
    throw new Error(`exit ${code}`);
  });
  const clock = vi.spyOn(performance, "now").mockReturnValue(1000);
  try {
    const training = await smallRun();
    const path = join(folder, "twice");
    const running = training.fit(batches(3), {
      callbacks: [
        saveOnSignal(path),
        {
          onStep: async () => {
            process.emit("SIGTERM", "SIGTERM");
            process.emit("SIGTERM", "SIGTERM");
            expect(exit).not.toHaveBeenCalled();
            clock.mockReturnValue(1350);
            process.emit("SIGTERM", "SIGTERM");
          },
        },
      ],
    });
    await expect(running).rejects.toThrow("exit 143");
    expect(process.listenerCount("SIGTERM")).toBe(0);
  } finally {
    exit.mockRestore();
    clock.mockRestore();
  }
});

it("saves nothing without a signal, and takes its handlers away where fit fails", async () => {
  const path = join(folder, "never");
  const training = await smallRun();
  const before = process.listenerCount("SIGINT");
  const fails = {
    onStep: () => {
      throw new Error("enough");
    },
  };
  await expect(training.fit(batches(3), { callbacks: [saveOnSignal(path), fails] })).rejects.toThrow(
    "enough",
  );
  expect(process.listenerCount("SIGINT")).toBe(before);
  await expect(stat(path)).rejects.toThrow("ENOENT");
  expect(() => saveOnSignal("")).toThrow('saveOnSignal: path must be a path, got ""');
});
