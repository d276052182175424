// Tests the app as users call it, with products of 8 bits.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));

it("trains with products of 8 bits", () => {
  const folder = mkdtempSync(join(tmpdir(), "mp-word-lm-"));
  try {
    const words = "A stone is a stone. A bird is no stone.\n\n";
    writeFileSync(join(folder, "text.txt"), words.repeat(200));
    const [plain, quantized] = ["float32", "float8"].map((precision) => {
      const json = join(folder, `${precision}.json`);
      const sizes = "--cells 16 --sequence 4 --batch 4 --vocab 10 --steps 20".split(" ");
      execFileSync(process.execPath, [
        main,
        ...sizes,
        "--data",
        folder,
        "--precision",
        precision,
        "--json",
        json,
      ]);
      return JSON.parse(readFileSync(json, "utf8"));
    });
    expect([quantized.precision, quantized.applied]).toEqual(["float8", 20]);
    expect(quantized.loss).not.toEqual(plain.loss);
    expect(quantized.loss[19]).toBeCloseTo(plain.loss[19], 1);
    expect(quantized.details.operandBytes).toBeLessThan(plain.details.operandBytes);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
