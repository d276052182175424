import { afterAll, beforeAll, expect, it } from "vitest";
import { OpenDemo } from "./open-demo.js";
import { resumedLosses } from "./resume.js";

let demo: OpenDemo;

beforeAll(async () => {
  demo = await OpenDemo.open({ webgpu: true });
});

afterAll(() => demo?.close());

/** Largest relative difference of losses: the GPU sums in another order. The README states it. */
const TOLERANCE = 1e-3;

it("trains float32 on the GPU, and Node goes on from its checkpoint", async () => {
  await demo.trainUntil(4);
  expect(await demo.page.textContent("#facts")).toContain("GPU, onnxruntime-web");
  const half = await demo.page.textContent("#facts tr:first-child td:last-child");
  const remark = await demo.page.textContent("#remarks");
  expect(remark?.startsWith("This GPU cannot compute in float16")).toBe(half === "processor");
  const saved = (await demo.losses("float32")).length;
  const { path } = await demo.checkpoint("float32");
  await demo.trainUntil(saved + 3);
  const losses = (await demo.losses("float32")).slice(saved, saved + 3);
  const resumed = await resumedLosses("float32", path, 3);
  expect(losses).toHaveLength(3);
  for (const [index, loss] of resumed.entries())
    expect(Math.abs(loss / (losses[index] ?? Number.NaN) - 1)).toBeLessThan(TOLERANCE);
  expect(demo.complaints).toEqual([]);
});
