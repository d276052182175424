import { full } from "@mp/graph";
import { expect, it } from "vitest";
import { COUNTING, counting, f32, flag, products } from "./graphs.js";
import { open } from "./open.js";

it("leaves the event loop free while a program runs", async () => {
  const backend = await open();
  const executable = await backend.compile(products(1024, 8));
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const input = { a: full([1024, 1024], 0, "f32") };
  for (let turn = 0; turn < 100 && ticks < 5; turn++) await executable.run(input);
  clearInterval(timer);
  expect(ticks).toBeGreaterThanOrEqual(5);
  await backend.dispose();
});

it("lets timers fire between short runs that are awaited in a row", async () => {
  const backend = await open();
  const state = await backend.createState({ vector: f32(0), count: f32(0) });
  const executable = await backend.compile(counting(1), { state, ...COUNTING });
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  for (let run = 0; run < 100_000 && ticks <= 10; run++)
    await executable.run({ x: f32(1), applied: flag(true) });
  clearInterval(timer);
  expect(ticks).toBeGreaterThan(10);
  await backend.dispose();
});
