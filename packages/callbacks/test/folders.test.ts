// Tests that callbacks create the folders of their files, and refuse a path that cannot be written before the first
// step.
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { csvLog, jsonLinesLog, keepBest, rotate, saveOnSignal, tensorBoard } from "../src/index.js";
import { batches, smallRun } from "./small-run.js";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-folders-"));
  await writeFile(join(folder, "file"), "");
});
afterAll(() => rm(folder, { recursive: true }));

const CALLBACKS = {
  keepBest: (path: string) => keepBest({ path, monitor: "loss" }),
  csvLog: (path: string) => csvLog(path),
  jsonLinesLog: (path: string) => jsonLinesLog(path),
  rotate: (path: string) => rotate({ folder: path }),
  saveOnSignal: (path: string) => saveOnSignal(path),
  tensorBoard: (path: string) => tensorBoard(path),
};

it.each(Object.entries(CALLBACKS))("%s", async (name, callback) => {
  const path = join(folder, name, "new", "place");
  const training = await smallRun();
  await training.fit(batches(2), { callbacks: [callback(path)] });
  await stat(join(folder, name, "new"));
  let steps = 0;
  const onStep = (): void => void steps++;
  const takesFolder = name === "rotate" || name === "tensorBoard";
  for (const wrong of [join(folder, "file", "inside"), ...(takesFolder ? [] : [folder])]) {
    const failing = training.fit(batches(2), { onStep, callbacks: [callback(wrong)] });
    await expect(failing).rejects.toMatchObject({
      code: "MP_IO",
      message: expect.stringMatching(
        / cannot be \w+: .*; (a part of the path is a file|a file is in the way|a folder is there), name /,
      ),
    });
  }
  expect(steps).toBe(0);
});
