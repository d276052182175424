import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { RunResult } from "@mp/cli";
import { key, MpError, mixedFloat16, sgd, tensor, trainer, zeros } from "@mp/core";
import { dense, meanSquaredError, softmaxCrossEntropy } from "@mp/nn";
import { expect, it } from "vitest";
import { tinyBackend } from "../src/tiny-backend.js";

const app = join(import.meta.dirname, "..");

it("is under 100 lines", () => {
  const lines = readFileSync(join(app, "src/tiny-backend.ts"), "utf8").trimEnd().split("\n");
  expect(lines.length).toBeLessThan(100);
});

const layer = dense(2, 2);
const options = {
  params: layer.init(key(0)),
  optimizer: sgd({ learningRate: 0.1 }),
  onWarning: () => undefined,
};

async function refusalOf(call: () => Promise<unknown>): Promise<MpError> {
  try {
    await call();
  } catch (error) {
    if (MpError.is(error, "MP_UNSUPPORTED")) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

it("refuses an operator without a kernel", async () => {
  const training = await trainer({
    ...options,
    backend: tinyBackend(),
    loss: (params, { x, y }) => softmaxCrossEntropy(layer.apply(params, x), y),
  });
  const batch = { x: zeros([4, 2]), y: tensor(Int32Array.of(0, 1, 0, 1)) };
  const { message, details } = await refusalOf(() => training.step(batch));
  expect(message).toMatch(/^tiny: SoftmaxCrossEntropyLoss is unsupported: no kernel/);
  expect(details["op"]).toBe("SoftmaxCrossEntropyLoss");
  await training.dispose();
});

it("refuses a half that it has no storage for", async () => {
  const { message } = await refusalOf(() =>
    trainer({
      ...options,
      backend: tinyBackend(),
      precision: mixedFloat16(),
      loss: (params, { x, y }) => meanSquaredError(layer.apply(params, x), y),
    }),
  );
  expect(message).toMatch(/tiny has no f16/);
});

it("trains as the reference does", async () => {
  const scratch = mkdtempSync(join(tmpdir(), "custom-backend-"));
  try {
    const json = join(scratch, "result.json");
    const main = join(app, "dist/main.js");
    const { stdout } = await promisify(execFile)(process.execPath, [main, "--steps", "60", "--json", json]);
    const apart = Number(/largest relative difference: (\S+)/.exec(stdout)?.[1]);
    expect(apart).toBeLessThan(1e-5);
    const { loss, engine, applied }: RunResult = JSON.parse(readFileSync(json, "utf8"));
    expect([engine.name, applied, loss.length]).toEqual(["tiny", 60, 60]);
    expect(loss.at(-1)).toBeLessThan((loss[0] ?? 0) / 3);
  } finally {
    rmSync(scratch, { recursive: true });
  }
});
