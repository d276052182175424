import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { takeScreenshots } from "@mp/test-browser/screenshots";
import { afterAll, beforeAll, expect, it } from "vitest";
import { RUNS } from "../../src/page/messages.js";
import { OpenDemo } from "./open-demo.js";
import { resumedLosses } from "./resume.js";

/** Screenshots for a person to look at; git ignores the folder. */
const screenshots = join(import.meta.dirname, "../../.results/screenshots");
mkdirSync(screenshots, { recursive: true });

let demo: OpenDemo;

beforeAll(async () => {
  demo = await OpenDemo.open({ webgpu: false });
});

afterAll(() => demo?.close());

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

it("begins to train by itself, pauses and goes on at the button, and says why it is slow", async () => {
  await demo.waitForText("#facts td", "processor");
  await demo.waitForText("#remarks", "This browser offers no GPU");
  await demo.trainUntil(3);
  const { length } = await demo.losses("float32");
  expect(await demo.page.textContent("#train")).toBe("Go on");
  await demo.trainUntil(length + 2);
  expect(await demo.losses("float32")).not.toHaveLength(length);
});

it("trains both precisions, and the losses fall together", async () => {
  await demo.trainUntil(60);
  const [single = [], half = []] = await Promise.all(RUNS.map((run) => demo.losses(run)));
  for (const losses of [single, half]) expect(mean(losses.slice(50, 60))).toBeLessThan(0.5);
  expect(mean(half.slice(50, 60))).toBeCloseTo(mean(single.slice(50, 60)), 1);
  expect(half[0]).not.toBe(single[0]);
  expect(half[0]).toBeCloseTo(single[0] ?? Number.NaN, 2);
});

it("reads a drawn digit in both precisions, and tells the ranges of the gradients", async () => {
  const paper = await demo.page.locator("#paper").boundingBox();
  if (paper === null) throw new Error("no paper");
  const { x, y, width, height } = paper;
  await demo.page.mouse.move(x + 0.5 * width, y + 0.15 * height);
  await demo.page.mouse.down();
  await demo.page.mouse.move(x + 0.5 * width, y + 0.85 * height, { steps: 8 });
  await demo.page.mouse.up();
  await demo.waitForText("#reading", "Both read 1.");
  await demo.waitForText("#ranges", "Step ");
});

it.each(["light", "dark"] as const)("fits narrow and wide screens, %s", async (colorScheme) => {
  const { page } = demo;
  await page.emulateMedia({ colorScheme });
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
    await takeScreenshots(page, join(screenshots, `${colorScheme}-${width}`));
  }
});

it.each(RUNS)("a checkpoint of %s goes on in Node with the same bits", async (run) => {
  const saved = (await demo.losses(run)).length;
  const { name, path } = await demo.checkpoint(run);
  expect(name).toBe(`digits-${run}-step-${saved}.safetensors`);
  await demo.trainUntil(saved + 5);
  expect(await resumedLosses(run, path, 5)).toEqual((await demo.losses(run)).slice(saved, saved + 5));
});

it("opens and trains without a network once it was loaded", async () => {
  await demo.waitForText("#offline", "Kept in this browser");
  await demo.closeServer();
  await demo.page.goto(new URL("?engine=reference", demo.page.url()).href);
  await demo.page.waitForSelector("#train:enabled");
  await demo.waitForText("#remarks", "Training runs on the processor, as");
  await demo.trainUntil(2);
  expect(demo.complaints).toEqual([]);
});
