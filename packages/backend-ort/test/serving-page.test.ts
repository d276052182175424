// The programs of docs/serving.md that are not TypeScript, run as they are there.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ops } from "@mp/core";
import { full, type Tensor, tensor } from "@mp/graph";
import { encodeModel, exportOnnx } from "@mp/onnx";
import { afterAll, describe, expect, it } from "vitest";
import { blockOf } from "./serving-page.js";

/** In the package, so that Node finds onnxruntime-node. */
const folder = mkdtempSync(fileURLToPath(new URL("../.serving-page-", import.meta.url)));
afterAll(() => rmSync(folder, { recursive: true }));

const params = { kernel: tensor(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]), bias: full([3], 0.5) };
type Params = { readonly [K in keyof typeof params]: Tensor };
const apply = ({ kernel, bias }: Params, { x }: { readonly x: Tensor }) =>
  ops.add(ops.matMul(x, kernel), bias);

describe("docs/serving.md", () => {
  it("its program runs in plain onnxruntime-node and prints what it says", () => {
    const model = exportOnnx(
      apply,
      { params },
      { inputs: { x: { shape: [1, 2] } }, dynamicAxes: { x: { 0: "batch" } } },
    );
    writeFileSync(join(folder, "model.onnx"), encodeModel(model));
    const program = blockOf("js");
    writeFileSync(join(folder, "serve.mjs"), program);
    const { stdout, stderr } = spawnSync(process.execPath, ["serve.mjs"], { cwd: folder, encoding: "utf8" });
    expect(stderr).toBe("");
    expect(`// ${stdout.trim()}`).toBe(program.trim().split("\n").at(-1));
  });
});
