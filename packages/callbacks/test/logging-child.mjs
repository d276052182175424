// Trains and logs; killed-while-logging.test.ts starts it. Arguments: folder, steps, and after how many of its own steps
// it waits to be killed.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { csvLog, jsonLinesLog, tensorBoard } from "@mp/callbacks";
import { float32, ops, tensor, trainer } from "@mp/core";
import { sgd } from "@mp/core/optim";
import { reference } from "@mp/core/reference";

const [folder = "", steps = "", most] = process.argv.slice(2);
let made = 0;
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
        made++;
        if (made === Number(most)) await new Promise((done) => setTimeout(done, 3_600_000));
      },
    },
  ],
});
await training.dispose();
