import type { Backend } from "@mp/core";
import type { StepDevice } from "../engines/engine-table.js";
import type { StepAnswer, StepTask } from "./step-task.js";

type Core = typeof import("@mp/core");

interface Openers {
  readonly reference: { reference(): Promise<Backend> };
  readonly ort: { ort(options: { readonly device: StepDevice }): Promise<Backend> };
  readonly tfjs: {
    loadTfjsNode(options: { readonly device: StepDevice }): Promise<unknown>;
    tfjs(options: { readonly tf: unknown }): Promise<Backend>;
  };
  readonly openvino: { openvino(): Promise<Backend> };
  readonly xla: { xla(): Promise<Backend> };
}

const OPEN: {
  readonly [E in keyof Openers]: (module: Openers[E], device: StepDevice) => Promise<Backend>;
} = {
  reference: ({ reference }) => reference(),
  ort: ({ ort }, device) => ort({ device }),
  tfjs: async ({ loadTfjsNode, tfjs }, device) => tfjs({ tf: await loadTfjsNode({ device }) }),
  openvino: ({ openvino }) => openvino(),
  // MP_XLA_PLUGIN may name the plugin of another device.
  xla: ({ xla }) => xla(),
};

const open = async <E extends keyof Openers>(engine: E, { entry, device }: StepTask): Promise<Backend> =>
  OPEN[engine]((await import(entry)) as Openers[E], device);

/** Input and weights that f16 and bf16 hold exactly, so that all engines compute nearly the same loss. */
const X = [1, 2, 0.5, -1, 0, 1, 2, 1, -0.5, 0.25, 1, -2];
const W = [0.5, -1, 1, 0.25, -0.5, 2];
const [ROWS, INNER, COLUMNS] = [4, 3, 2];

/** The loss to expect: the mean of the squares of X·W. */
function correctLoss(): number {
  const squares = Array.from({ length: ROWS * COLUMNS }, (_, at) => {
    const [row, column] = [Math.floor(at / COLUMNS), at % COLUMNS];
    let y = 0;
    for (let i = 0; i < INNER; i++) y += (X[row * INNER + i] ?? 0) * (W[i * COLUMNS + column] ?? 0);
    return y * y;
  });
  return squares.reduce((sum, square) => sum + square, 0) / squares.length;
}

/** Runs the step that is tried on every engine: a linear layer, the mean of its squares, an update. */
export async function trainingStep(task: StepTask): Promise<StepAnswer> {
  const since = performance.now();
  const { adamW, mixed, ops, tensor, trainer } = (await import(task.core)) as Core;
  const backend = await open(task.engine, task);
  const training = await trainer({
    backend,
    params: { w: tensor(Float32Array.from(W), [INNER, COLUMNS]) },
    loss: ({ w }, { x }) => ops.reduceMean(ops.square(ops.matMul(x, w))),
    optimizer: adamW({ learningRate: 1e-2 }),
    precision: mixed(),
    // The doctor reports it in its own words.
    onWarning: () => undefined,
  });
  const { loss, applied } = await training.step({ x: tensor(Float32Array.from(X), [ROWS, INNER]) });
  const seconds = (performance.now() - since) / 1000;
  const { engine, device, dtypes } = backend.manifest;
  const native = (["bf16", "f16"] as const).filter((half) => {
    const support = dtypes[half];
    return "compute" in support && support.compute === "native";
  });
  const precision = training.precision.name;
  await training.dispose();
  await backend.dispose();
  return {
    kind: "made",
    engine: engine.name,
    version: engine.version,
    device,
    precision,
    native,
    loss,
    expected: correctLoss(),
    applied,
    seconds,
  };
}
