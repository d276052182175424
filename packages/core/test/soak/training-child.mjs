// Trains a small model with everything that a checkpoint must hold: masters, optimizer state, a moving loss scale,
// retries, windows, dropout, model state, and the position in the data. Continues from the checkpoint if there is one.
// argv: backend, checkpoint, steps, what to do: "save" at every step and tell of each, "watch" the memory, or "reopen"
// the engine every few steps and watch the memory.
import { existsSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";

const [engine, path, steps, task] = process.argv.slice(2);
const core = await import("../../dist/index.js");
const backends = {
  reference: async () => (await import("../../dist/reference.js")).reference(),
  ort: async () => (await import("../../../backend-ort/dist/index.js")).ort(),
  tfjs: async () => {
    const { loadTfjsNode, tfjs } = await import("../../../backend-tfjs/dist/index.js");
    return tfjs({ tf: await loadTfjsNode() });
  },
  openvino: async () => (await import("../../../backend-openvino/dist/index.js")).openvino(),
  xla: async () => (await import("../../../backend-xla/dist/index.js")).xla({ device: "cpu" }),
  // It keeps its programs beside the checkpoint.
  "xla with a cache": async () => {
    const { xla } = await import("../../../backend-xla/dist/index.js");
    return xla({ device: "cpu", cache: join(dirname(path), "programs") });
  },
};

const wave = (shape, step) => {
  const size = shape.reduce((product, dimension) => product * dimension, 1);
  return core.tensor(
    Float32Array.from({ length: size }, (_, i) => Math.sin(step * (i + 1))),
    shape,
  );
};
const saving = task === "save";
const open = async (backend) =>
  core.trainer({
    backend,
    params: { hidden: wave([3, 8], 0.7), out: wave([8, 1], 1.3) },
    modelState: { mean: wave([8], 0) },
    loss: ({ hidden, out }, { x, y }, { key, modelState, training: on }) => {
      const inner = core.ops.relu(core.ops.matMul(x, hidden));
      const kept = on ? core.ops.where(core.ops.randomBernoulli(key, 0.75, inner.shape), inner, 0) : inner;
      const error = core.ops.sub(core.ops.matMul(kept, out), y);
      const mean = core.ops.add(
        core.ops.mul(modelState.mean, 0.9),
        core.ops.mul(core.ops.reduceMean(inner, { axes: [0] }), 0.1),
      );
      return { loss: core.ops.reduceMean(core.ops.mul(error, error)), modelState: { mean } };
    },
    optimizer: core.adam({ learningRate: core.cosineDecay(0.02, { steps: Number(steps) }) }),
    precision: saving
      ? {
          ...core.mixedFloat16(),
          lossScaler: core.dynamicLossScale({ initialScale: 2 ** 20, growthInterval: 4 }),
        }
      : core.mixedFloat16(),
    clipNorm: 1,
    ...(saving ? { accumulate: 2, onOverflow: "retry" } : {}),
    onWarning: () => undefined,
  });
const data = Array.from({ length: 14 }, (_, index) => ({
  x: wave([4, 3], index + 0.3),
  y: wave([4, 1], index + 0.9),
}));

// Collected first: how much garbage waits depends on the collector's mood, and says nothing of a leak.
const tellOfMemory = (step) => {
  globalThis.gc();
  writeSync(1, `${step} ${process.memoryUsage.rss()}\n`);
};

/** The work of each task until so many steps are made. */
const tasks = {
  save: async (training) => {
    if (existsSync(path)) await training.load(path);
    // Synchronous, so that a kill cannot fall between a step and the pipe's buffer.
    const tell = ({ step, loss, applied, scale, gradNorm, retries, epoch }) =>
      writeSync(1, `${step} ${JSON.stringify([loss, applied, scale, gradNorm, retries, epoch])}\n`);
    await training.fit(data, { steps: Number(steps), save: { path, every: 1 }, onStep: tell });
  },
  watch: async (training) => {
    for (let step = 1; step <= Number(steps); step++) {
      await training.step(data[step % data.length]);
      if (step % 250 === 0) tellOfMemory(step);
    }
  },
};

if (task === "reopen") {
  for (let cycle = 1; cycle <= Number(steps); cycle++) {
    const backend = await backends[engine]();
    const training = await open(backend);
    for (const batch of data.slice(0, 3)) await training.step(batch);
    await training.dispose();
    await backend.dispose();
    tellOfMemory(cycle);
  }
} else {
  const training = await open(await backends[engine]());
  await tasks[task](training);
  await training.dispose();
}
