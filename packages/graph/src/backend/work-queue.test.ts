import { expect, it } from "vitest";
import { WorkQueue } from "./work-queue.js";

const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

it("runs one piece at a time, in order, whatever becomes of those before", async () => {
  const queue = new WorkQueue();
  const seen: string[] = [];
  const slow = queue.push(async () => {
    await later(5);
    seen.push("slow");
  });
  const failing = queue.push(async () => {
    seen.push("failing");
    throw new Error("on purpose");
  });
  const quick = queue.push(async () => {
    seen.push("quick");
    return 7;
  });
  await expect(failing).rejects.toThrow("on purpose");
  expect(await quick).toBe(7);
  await slow;
  expect(seen).toEqual(["slow", "failing", "quick"]);
});

it("is idle before the first piece and once the last has ended, well or not", async () => {
  const queue = new WorkQueue();
  expect(queue.isIdle).toBe(true);
  const first = queue.push(() => later(1));
  const second = queue.push(() => Promise.reject(new Error("on purpose")));
  expect(queue.isIdle).toBe(false);
  await first;
  expect(queue.isIdle).toBe(false);
  await second.catch(() => undefined);
  await later(0);
  expect(queue.isIdle).toBe(true);
});
