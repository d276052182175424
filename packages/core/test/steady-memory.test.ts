import { expect, it } from "vitest";
import { backends, part } from "./soak/size.js";
import { trainInProcess } from "./soak/training-process.js";

const STEPS = 100_000;
const WARM_UP = 5_000;
/** A short run has not seen the garbage collector at its laziest before it is half over. */
const growthOf = (steps: number): number => (steps > STEPS / 2 ? 1.05 : 1.1);

it.each(backends)("memory stays flat while %s makes many steps", async (backend) => {
  const steps = WARM_UP + Math.max(5_000, part(STEPS - WARM_UP));
  const told = await trainInProcess({ backend, path: "", steps, task: "watch" });
  const resident = [...told].filter(([step]) => step >= WARM_UP).map(([, bytes]) => Number(bytes) / 2 ** 20);
  const half = resident.length >> 1;
  const [before, after] = [Math.max(...resident.slice(0, half)), Math.max(...resident.slice(half))];
  const range = `${Math.min(...resident).toFixed(1)} … ${Math.max(...resident).toFixed(1)} MiB`;
  console.log(
    `${backend}: ${steps} steps; after the first ${WARM_UP} ${range}, at most ${before.toFixed(1)} in the first half of them and ${after.toFixed(1)} in the second`,
  );
  expect(resident.length).toBeGreaterThan(10);
  expect(after).toBeLessThan(growthOf(steps) * before);
});
