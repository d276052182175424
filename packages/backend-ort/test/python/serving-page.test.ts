import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ops, sgd, trainer } from "@mp/core";
import { type Tensor, zeros } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { afterAll, expect, it } from "vitest";
import { blockOf } from "../serving-page.js";
import { runPython } from "./python.js";

const folder = mkdtempSync(join(tmpdir(), "mp-serving-page-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Params = { readonly kernel: Tensor; readonly bias: Tensor };
const apply = ({ kernel, bias }: Params, { x }: { readonly x: Tensor }) =>
  ops.add(ops.matMul(x, kernel), bias);

it("the Python of docs/serving.md opens a checkpoint", async () => {
  const training = await trainer({
    backend: await reference(),
    params: { kernel: zeros([4, 3]), bias: zeros([3]) },
    loss: (given: Params, batch: { readonly x: Tensor }) => ops.reduceSum(apply(given, batch)),
    optimizer: sgd({ learningRate: 0.1 }),
    ema: { decay: 0.9 },
    onWarning: () => undefined,
  });
  await training.save(join(folder, "run.safetensors"));
  await training.dispose();
  const printed = runPython(blockOf("python"), folder);
  expect(printed).toBe(blockOf("text"));
});
