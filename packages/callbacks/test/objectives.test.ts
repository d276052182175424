import { readFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { float32, ops, type Tensor, tensor, trainer } from "@mp/core";
import { settable, sgd } from "@mp/core/optim";
import { reference } from "@mp/core/reference";
import { expect, it } from "vitest";
import { earlyStopping, jsonLinesLog, keepBest, reduceOnPlateau, rotate, tensorBoard } from "../src/index.js";
import { batches } from "./small-run.js";

type Batch = { readonly x: Tensor; readonly y: Tensor };
const errorOf = (w: Tensor, { x, y }: Batch): Tensor => {
  const difference = ops.sub(ops.matMul(x, w), y);
  return ops.reduceMean(ops.mul(difference, difference));
};

it("takes callbacks for a run with several losses, whose numbers begin with their names", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mp-objectives-"));
  try {
    const training = await trainer({
      backend: await reference(),
      params: { d: tensor(new Float32Array(3), [3, 1]), g: tensor(new Float32Array(3), [3, 1]) },
      objectives: {
        d: {
          loss: ({ d }, given: Batch) => errorOf(d, given),
          params: { d: true },
          optimizer: sgd({ learningRate: settable(0.5) }),
        },
        g: {
          loss: ({ g }, given: Batch) => ({
            loss: errorOf(g, given),
            metrics: { size: ops.reduceMean(g) },
          }),
          params: { g: true },
          optimizer: sgd({ learningRate: 0.25 }),
        },
      },
      precision: float32(),
      onWarning: () => undefined,
    });
    const stopping = earlyStopping({ monitor: "validation/g/size", mode: "max", patience: 99 });
    const log = join(folder, "log.jsonl");
    await training.fit(batches(2), {
      epochs: 5,
      validation: { data: batches(1, 7) },
      callbacks: [
        stopping,
        keepBest({ path: join(folder, "best"), monitor: "d/loss" }),
        reduceOnPlateau({ monitor: "validation/d/loss", patience: 1, minDelta: 1000 }),
        rotate({ folder, keep: 1 }),
        jsonLinesLog(log),
        tensorBoard(join(folder, "events")),
      ],
    });
    expect(stopping.best).toBeDefined();
    expect((await training.rates()).d["default"]).toBeCloseTo(0.5 * 0.1 ** 4, 8);
    const lines = readFileSync(log, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ event: "step", step: 1, "d/applied": 1, "g/rates/default": 0.25 });
    expect(lines[0]).toHaveProperty("g/size");
    expect(lines[2]).toMatchObject({ event: "validation", step: 2 });
    expect(lines[2]).toHaveProperty("d/loss");
    expect((await readdir(folder)).sort()).toEqual(["best", "events", "log.jsonl", "step-10.safetensors"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
