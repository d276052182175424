// A separate process: tests whether XLA loads a program that an earlier client compiled and kept on disk. A program that
// does not load is compiled and written again.
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** @param {string} path */
const load = (path) => import(new URL(`../../packages/${path}/dist/index.js`, import.meta.url).href);
const { xla } = await load("backend-xla");
const { mixedBfloat16, ops, sgd, tensor, trainer } = await load("core");

const [device = "cpu"] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "mp-kept-programs-"));
const x = tensor(
  Float32Array.from({ length: 64 }, (_, at) => at / 64),
  [8, 8],
);

/** Trains two steps with the kept programs; returns the losses. */
async function train() {
  const backend = await xla({ device, cache: folder });
  const training = await trainer({
    backend,
    params: { w: x },
    loss: (/** @type {any} */ { w }, /** @type {any} */ batch) =>
      ops.reduceMean(ops.tanh(ops.matMul(batch.x, w))),
    optimizer: sgd({ learningRate: 0.5 }),
    precision: mixedBfloat16(),
  });
  const losses = [];
  for (let step = 0; step < 2; step++) losses.push((await training.step({ x })).loss);
  await training.dispose();
  await backend.dispose();
  return losses;
}

/** The files by name, with their inode numbers, which change when they are written again. */
const listFiles = () => readdirSync(folder).map((name) => `${name} ${statSync(join(folder, name)).ino}`);

try {
  const first = await train();
  const kept = listFiles();
  const second = await train();
  const ok = kept.length > 0 && kept.join() === listFiles().join() && first.join() === second.join();
  console.log(JSON.stringify({ ok, programs: kept.length, losses: first, lossesOfLoaded: second }));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
// CUDA's libraries may hang when a process exits, and ignore SIGTERM.
process.kill(process.pid, "SIGKILL");
