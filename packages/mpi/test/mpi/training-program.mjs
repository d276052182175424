/**
 * The program of each rank in the test of killed ranks: `node training-program.mjs CHECKPOINT STEPS [SHARD]`. It
 * resumes from an existing checkpoint, saves after every step, and rank 0 prints a hash of all state at the end.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { dynamicLossScale, float32, momentum, trainer } from "@mp/core";
import { tensor } from "@mp/graph";
import { matMul, mul, reduceMean, sub, tanh } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { mpi } from "../../dist/index.js";

const [checkpoint = "", steps = "0", shard] = process.argv.slice(2);
const ranks = await mpi();
process.stdout.write(`${JSON.stringify({ rank: ranks.rank, pid: process.pid })}\n`);

const [INPUTS, HIDDEN, BATCH] = [8, 32, 4];
const numbers = (length, seed) => Float32Array.from({ length }, (_, at) => Math.sin(seed + 7919 * at));
const weights = (rows, columns, seed) =>
  tensor(
    numbers(rows * columns, seed).map((x) => x / Math.sqrt(rows)),
    [rows, columns],
  );

const training = await trainer({
  backend: await reference(),
  params: { first: weights(INPUTS, HIDDEN, 1), second: weights(HIDDEN, 1, 2) },
  loss: ({ first, second }, { x, y }) => {
    const error = sub(matMul(tanh(matMul(x, first)), second), y);
    return reduceMean(mul(error, error));
  },
  optimizer: momentum({ learningRate: 0.05 }),
  precision: { ...float32(), lossScaler: dynamicLossScale({ growthInterval: 5 }) },
  ranks,
  ...(shard === undefined ? {} : { shard }),
});

/** Every rank counts its own batches, and its place is in the checkpoint. */
const batches = {
  *[Symbol.iterator]() {
    for (let at = 0; ; at++) {
      const x = numbers(BATCH * INPUTS, 100 * at + ranks.rank);
      yield { x: tensor(x, [BATCH, INPUTS]), y: tensor(x.slice(0, BATCH), [BATCH, 1]) };
    }
  },
};
if (existsSync(checkpoint)) await training.load(checkpoint);
await training.fit(batches, { steps: Number(steps), save: { path: checkpoint, every: 1 } });
const hash = createHash("sha256")
  .update(await training.saveBytes())
  .digest("hex");
if (ranks.rank === 0) process.stdout.write(`${JSON.stringify({ hash })}\n`);
await training.dispose();
await ranks.dispose();
