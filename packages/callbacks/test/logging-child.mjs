// Trains and logs until it is killed; killed-while-logging.test.ts starts it. Arguments: folder, steps.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { csvLog, jsonLinesLog, tensorBoard } from "@mp/callbacks";
import { float32, ops, tensor, trainer } from "@mp/core";
import { sgd } from "@mp/core/optim";
import { reference } from "@mp/core/reference";

const [folder = "", steps = ""] = process.argv.slice(2);
const vector = (/** @type {number} */ from) => tensor(Float32Array.of(from, from + 1, from + 2), [3]);
const training = await trainer({
  backend: await reference(),
  params: { w: vector(1) },
  loss: ({ w }, /** @type {{ x: import("@mp/core").Tensor }} */ { x }) => {
    const difference = ops.sub(w, x);
    return { loss: ops.reduceMean(ops.mul(difference, difference)), metrics: { size: ops.reduceMean(w) } };
  },
  optimizer: sgd({ learningRate: 0.01 }),
  precision: float32(),
  onWarning: () => undefined,
});
const path = join(folder, "run.safetensors");
if (existsSync(path)) await training.load(path);
const data = Array.from({ length: 5 }, (_, index) => ({ x: vector(index) }));
await training.fit(data, {
  steps: Number(steps),
  save: { path, every: 7 },
  validation: { data: data.slice(0, 2), every: 3 },
  callbacks: [
    csvLog(join(folder, "log.csv")),
    jsonLinesLog(join(folder, "log.jsonl")),
    tensorBoard(join(folder, "events")),
    {
      onStep: async ({ step }) => {
        process.stdout.write(`${step}\n`);
        // Time to be killed in.
        await new Promise((done) => setTimeout(done, 10));
      },
    },
  ],
});
await training.dispose();
