// Tests the app as users call it, with products of 8 bits.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { appRunner } from "../../../packages/cli/test/app-runner.mjs";

const SMALL = "--cells 16 --sequence 4 --batch 4 --vocab 10 --steps 20".split(" ");
const app = appRunner(new URL("../dist/main.js", import.meta.url), SMALL);
afterAll(app.dispose);

it("trains with products of 8 bits", async () => {
  const words = "A stone is a stone. A bird is no stone.\n\n";
  writeFileSync(join(app.folder, "text.txt"), words.repeat(200));
  const plain = await app.result("--data", app.folder, "--precision", "float32");
  const quantized = await app.result("--data", app.folder, "--precision", "float8");
  expect([quantized.precision, quantized.applied]).toEqual(["float8", 20]);
  expect(quantized.loss).not.toEqual(plain.loss);
  expect(quantized.loss[19]).toBeCloseTo(plain.loss[19], 1);
  expect(quantized.details.operandBytes).toBeLessThan(plain.details.operandBytes);
});
