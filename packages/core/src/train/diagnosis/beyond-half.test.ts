import { roundTo, tensor } from "@mp/graph";
import fc from "fast-check";
import { expect, it } from "vitest";
import { smallRun, wave } from "../../../test/small-run.js";
import { bfloat16, float32, mixedFloat16 } from "../../precision/presets.js";
import type { TrainingWarning } from "../definition/warning.js";

const withX = (x: number) => {
  const data = wave([4, 3], 1);
  data.data[5] = x;
  return { x: data, y: wave([4, 1], 2) };
};

async function warningsOf(x: number, steps: number, precision = mixedFloat16()) {
  const warnings: TrainingWarning[] = [];
  const training = await smallRun({
    precision,
    maxConsecutiveSkips: 2,
    onWarning: (warning) => warnings.push(warning),
  });
  let error: unknown;
  for (let step = 0; step < steps; step++)
    await training.step(withX(x)).catch((failure: unknown) => {
      error = failure;
    });
  const found = await training.diagnose([withX(x)]);
  await training.dispose();
  return { said: warnings.filter(({ type }) => type === "data").map(({ message }) => message), error, found };
}

it("a batch beyond float16 is named at the first skip, once, and in the error and the diagnosis", async () => {
  const { said, error, found } = await warningsOf(-1e6, 3);
  const named = "batch/x holds -1e6, below -65504, the end of f16, which no loss scale can help: standardize";
  expect(said).toEqual([expect.stringContaining(named)]);
  expect(said[0]).toMatch(/^step: was skipped, first in .*Cast \(Cast, forward, f16\[4, 3\]\)/);
  expect(error).toMatchObject({ code: "MP_NON_FINITE", message: expect.stringContaining(named) as string });
  expect(found).toMatchObject({ cause: "half too narrow", remedy: expect.stringContaining(named) as string });
});

it("exactly the numbers that the half rounds to infinity are", async () => {
  const near = fc.oneof(fc.constantFrom(65536, 3e38), fc.float({ min: 60000, max: 70000, noNaN: true }));
  await fc.assert(
    fc.asyncProperty(near, async (x) => {
      const { said } = await warningsOf(x, 1);
      expect(said.some((message) => message.includes("batch/x holds"))).toBe(
        !Number.isFinite(roundTo("f16", x)),
      );
    }),
    { numRuns: 10, examples: [[65504], [65519], [65520], [-65519], [-65520]] },
  );
});

it("infinities and NaN in a batch are named at the first skip too, under every policy", async () => {
  for (const precision of [float32(), bfloat16(), mixedFloat16()])
    for (const x of [Number.POSITIVE_INFINITY, Number.NaN]) {
      const { said } = await warningsOf(x, 2, precision);
      expect(said).toEqual([
        `step: was skipped, first in batch/x (input, f32[4, 3]); the data itself holds ${x} at [1, 2]; check this input`,
      ]);
    }
});

it("nothing is said of large data where the policy has no float16", async () => {
  for (const precision of [float32(), bfloat16()])
    expect((await warningsOf(1e6, 1, precision)).said).toEqual([]);
});

it("an input that no operator casts is not accused", async () => {
  const said: string[] = [];
  const training = await smallRun({
    precision: mixedFloat16(),
    onWarning: ({ type, message }) => type === "data" && said.push(message),
  });
  // The labels stay in f32; a gradient overflows.
  const y = tensor(Float32Array.of(1e6, 1e6, 1e6, 1e6), [4, 1]);
  expect(await training.step({ x: wave([4, 3], 1), y })).toMatchObject({ applied: false });
  expect(said).toEqual([]);
  await training.dispose();
});
