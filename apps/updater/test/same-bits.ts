// `updater` and the loop written out by hand give the same numbers, bit for bit, on every engine.
import { backendOf, type PointBatch, pointBatch } from "@mp/cli/training";
import {
  type Backend,
  chain,
  clipByGlobalNorm,
  isHostTensor,
  key,
  leavesOf,
  mixedFloat16,
  momentum,
  type Precision,
  staticLossScale,
  type TensorTree,
  type Traced,
  trainer,
  weightDecay,
} from "@mp/core";
import { type Communicator, updater } from "@mp/core/compat";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Values } from "../src/by-hand/engine-program.js";
import { type LoopOptions, ScalingLoop, type Update } from "../src/by-hand/scaling-loop.js";
import { pointFeeder } from "../src/point-feeder.js";
import { simulateWorkers } from "../src/simulate-workers.js";
import { pointTask } from "../src/task.js";

const { init, loss } = pointTask({ hidden: 16, checkpointing: false });
const params = init(key(3));
const solver = momentum({ learningRate: 0.1 });
const SEED = 3;
const DECAY = 1e-3;
const CLIP = 0.5;

export interface Setting {
  readonly updates: number;
  readonly scale: number;
  readonly scalingFactor?: number;
  readonly N?: number;
  readonly accumGrad?: number;
  readonly comm?: Communicator;
  readonly feeder?: () => () => PointBatch;
  readonly precision?: (backend: Backend) => Precision;
}

/** Bits of the parameters by path. */
type Bits = readonly (readonly [string, readonly number[]])[];

interface Outcome {
  readonly updates: readonly Update[];
  /** The bits of all parameters, in order. */
  readonly bits: Bits;
}

const byPath = (tree: unknown): Values => Object.fromEntries(leavesOf(tree, isHostTensor, "parameters"));
const bitsOf = (values: Values): Bits =>
  Object.entries(values).map(([path, { data }]) => [path, [...new Uint32Array(data.slice().buffer)]]);

export async function inOneCall(backend: Backend, setting: Setting): Promise<Outcome> {
  const { updates, precision = mixedFloat16, feeder = pointFeeder, accumGrad = 1, comm, N = 2000 } = setting;
  await using training = await updater({
    backend,
    solver: chain(clipByGlobalNorm(CLIP), solver),
    loss,
    params,
    dataFeeder: feeder(),
    scale: setting.scale,
    scalingFactor: setting.scalingFactor ?? 2,
    N,
    accumGrad,
    weightDecay: DECAY,
    ...(comm === undefined ? {} : { comm }),
    precision: precision(backend),
    seed: SEED,
    onWarning: () => {},
  });
  const made: Update[] = [];
  for (let update = 0; update < updates; update++) {
    const { loss: value, applied, scale, retries } = await training.update();
    made.push({ loss: value, applied, scale, retries });
  }
  return { updates: made, bits: bitsOf(byPath(await training.training.parameters())) };
}

const loopOptions = (backend: Backend, setting: Setting): LoopOptions<PointBatch> => ({
  backend,
  params,
  loss: loss as (weights: TensorTree, batch: Traced<PointBatch>) => ReturnType<typeof loss>,
  solver,
  precision: (setting.precision ?? mixedFloat16)(backend),
  dataFeeder: (setting.feeder ?? pointFeeder)(),
  seed: SEED,
  dynamic: { scalingFactor: setting.scalingFactor ?? 2, N: setting.N ?? 2000 },
  scale: setting.scale,
  maxRetries: 100,
  accumGrad: setting.accumGrad ?? 1,
  weightDecay: DECAY,
  clip: CLIP,
  comm: setting.comm,
});

async function byHand(options: LoopOptions<PointBatch>, updates: number): Promise<Outcome> {
  const loop = await ScalingLoop.start(options, pointBatch(0));
  const made: Update[] = [];
  for (let update = 0; update < updates; update++) made.push(await loop.update());
  return { updates: made, bits: bitsOf(await loop.parameters()) };
}

/** Makes a feeder whose fifth batch has infinities. */
function brokenFeeder(): () => PointBatch {
  const next = pointFeeder();
  let count = 0;
  return () => {
    const { x, y } = next();
    if (count++ !== 4) return { x, y };
    return { x: { ...x, data: x.data.map(() => Number.POSITIVE_INFINITY) }, y };
  };
}

export const settings: Readonly<Record<string, Setting>> = {
  "overflow, retry and growth": { updates: 24, scale: 2 ** 24, N: 4 },
  "NNabla's own scale": { updates: 10, scale: 8 },
  "another factor": { updates: 24, scale: 2 ** 20, scalingFactor: 4, N: 3 },
  accumulation: { updates: 12, scale: 2 ** 22, N: 3, accumGrad: 3 },
  "other workers": { updates: 12, scale: 2 ** 22, N: 3, comm: simulateWorkers(3) },
  "accumulation and other workers": {
    updates: 10,
    scale: 2 ** 22,
    N: 3,
    accumGrad: 2,
    comm: simulateWorkers(2),
  },
  "a batch that overflows at every scale": { updates: 8, scale: 8, N: 3, feeder: () => brokenFeeder() },
};

/** Tests that `updater` and the loop written out by hand give the same bits on an engine. */
export function describeSameBits(name: "reference" | "ort" | "tfjs" | "openvino"): void {
  describe(`on ${name}`, () => {
    let backend: Backend;
    beforeAll(async () => {
      backend = await backendOf({ backend: name, device: "cpu" });
    });
    afterAll(() => backend.dispose());

    it.each(Object.entries(settings))("%s", async (_, setting) => {
      const [one, hand] = [
        await inOneCall(backend, setting),
        await byHand(loopOptions(backend, setting), setting.updates),
      ];
      expect(hand.updates).toEqual(one.updates);
      expect(hand.bits).toEqual(one.bits);
      expect(one.bits).not.toEqual(bitsOf(byPath(params)));
    });

    it("a static scale, beside a trainer's", async () => {
      const { dynamic: _, ...options } = loopOptions(backend, {
        updates: 12,
        scale: 2 ** 18,
        feeder: () => brokenFeeder(),
      });
      const hand = await byHand({ ...options, dynamic: undefined }, 12);
      await using training = await trainer({
        backend,
        params,
        loss,
        optimizer: chain(weightDecay(DECAY), clipByGlobalNorm(CLIP), solver),
        precision: { ...mixedFloat16(), lossScaler: staticLossScale(2 ** 18) },
        seed: SEED,
        onWarning: () => {},
      });
      const next = brokenFeeder();
      const updates: Update[] = [];
      for (let update = 0; update < 12; update++) {
        const { loss: value, applied, scale, retries } = await training.step(next());
        updates.push({ loss: value, applied, scale, retries });
      }
      expect(hand).toEqual({ updates, bits: bitsOf(byPath(await training.parameters())) });
      expect(updates.map(({ applied }) => applied)).toContain(false);
      expect(updates.map(({ applied }) => applied)).toContain(true);
    });
  });
}
