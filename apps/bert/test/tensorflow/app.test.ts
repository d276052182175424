// The app on TensorFlow, beside ONNX Runtime.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";

const main = fileURLToPath(new URL("../../dist/main.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "mp-bert-tensorflow-"));
afterAll(() => rmSync(folder, { recursive: true }));

const SMALL =
  "--layers 2 --size 32 --heads 2 --sequence 32 --batch 8 --vocab 300 --precision float32 --steps 4".split(
    " ",
  );

function losses(...own: readonly string[]): readonly number[] {
  const path = join(folder, `${own.length}.json`);
  const { status, stderr } = spawnSync(process.execPath, [main, ...SMALL, "--json", path, ...own], {
    encoding: "utf8",
    timeout: 600_000,
  });
  expect([status, stderr.includes("MP_")]).toEqual([0, false]);
  return JSON.parse(readFileSync(path, "utf8")).loss;
}

it("trains as on ONNX Runtime", () => {
  const onTensorFlow = losses("--backend", "tfjs", "--checkpointing");
  const onOrt = losses();
  expect(onOrt).toHaveLength(4);
  for (const [index, value] of onOrt.entries()) expect(onTensorFlow[index]).toBeCloseTo(value, 3);
});
