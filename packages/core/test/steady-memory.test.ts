import { expect, it } from "vitest";
import { backends, part } from "./soak/size.js";
import { trainInProcess } from "./soak/training-process.js";

/** Resident MiB, in order, as a training process reported it. */
async function resident(
  backend: string,
  task: "watch" | "reopen",
  steps: number,
): Promise<readonly number[]> {
  const report = await trainInProcess({ backend, path: "", steps, task });
  return [...report.values()].map((bytes) => Number(bytes) / 2 ** 20);
}

/** Growth allowed to compiled code and fragments of the heap once a process is warm. */
const SLACK_MIB = 16;

/** The highest of the second half is hardly above the highest of the first half. */
function expectFlat(what: string, measured: readonly number[]): void {
  const half = measured.length >> 1;
  const [before, after] = [Math.max(...measured.slice(0, half)), Math.max(...measured.slice(half))];
  console.log(
    `${what}: ${Math.min(...measured).toFixed(1)} … ${Math.max(...measured).toFixed(1)} MiB, at most ${before.toFixed(1)} in the first half and ${after.toFixed(1)} in the second`,
  );
  expect(measured.length).toBeGreaterThan(10);
  expect(after - before).toBeLessThan(SLACK_MIB);
}

const WARM_UP = 5_000;
/** Number of steps in a full soak. TensorFlow makes a tenth of ONNX Runtime's steps a second. */
const STEPS = new Map([
  ["reference", 100_000],
  ["ort", 200_000],
  ["tfjs", 20_000],
  ["openvino", 100_000],
  ["xla", 100_000],
]);

it.each(backends)("memory stays flat while %s makes many steps", async (backend) => {
  const full = STEPS.get(backend) ?? WARM_UP;
  const steps = WARM_UP + Math.max(3_000, part(full - WARM_UP));
  const measured = await resident(backend, "watch", steps);
  expectFlat(`${backend}, ${steps} steps after ${WARM_UP}`, measured.slice(WARM_UP / 250));
});

const CYCLES = 600;
const FIRST_CYCLES = 10;

it.each(backends)("memory stays flat while %s is opened, trained on and disposed of", async (backend) => {
  const cycles = FIRST_CYCLES + Math.max(20, part(CYCLES - FIRST_CYCLES));
  const measured = await resident(backend, "reopen", cycles);
  expectFlat(`${backend}, ${cycles} times opened, after ${FIRST_CYCLES}`, measured.slice(FIRST_CYCLES));
});
