import { type HostTensor, type Tensor, tensor } from "@mp/graph";
import { add, mul, reduceSum } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { sgd } from "../optim/sgd.js";
import { float32 } from "../precision/presets.js";
import type { Communicator } from "./communicator.js";
import { type UpdaterOptions, updater } from "./updater.js";

const vector = (...values: readonly number[]): HostTensor<"f32"> => tensor(Float32Array.from(values));
const params = { a: vector(1, 2), b: vector(3, 4) };
type Params = typeof params;
type Batch = { readonly x: Tensor; readonly y: Tensor };

/** A loss whose gradients are the batch: x for a, y for b. */
const linear = ({ a, b }: { readonly a: Tensor; readonly b: Tensor }, { x, y }: Batch): Tensor =>
  add(reduceSum(mul(a, x)), reduceSum(mul(b, y)));

type Changes = Partial<UpdaterOptions<Params, Batch, Readonly<Record<never, never>>, never>>;

async function made(changes: Changes = {}) {
  let fed = 0;
  const training = await updater({
    backend: await reference(),
    params,
    loss: linear,
    solver: sgd({ learningRate: 1 }),
    dataFeeder: () => {
      fed++;
      return { x: vector(fed, 0), y: vector(0, fed) };
    },
    precision: float32(),
    onWarning: () => {},
    ...changes,
  });
  const weights = async () => {
    const { a, b } = await training.training.parameters();
    return [...a.data, ...b.data];
  };
  return { training, weights, fed: () => fed };
}

/** A communicator that returns its tensors changed by `change`, and a record of the tensors that it got. */
function hook(change: (data: Float32Array, index: number) => Float32Array) {
  const seen: number[][][] = [];
  const comm: Communicator = {
    allReduce: (tensors, { division }) => {
      expect(division).toBe(false);
      seen.push(tensors.map(({ data }) => [...(data as Float32Array)]));
      const sums = tensors.map((own, index) => ({ ...own, data: change(own.data as Float32Array, index) }));
      return Promise.resolve(sums as HostTensor[]);
    },
  };
  return { comm, seen };
}

it("feeds accumGrad batches for each update, and adds their gradients", async () => {
  const { training, weights, fed } = await made({ accumGrad: 2 });
  expect(await training.update()).toMatchObject({ applied: true, scale: 8, retries: 0 });
  expect(fed()).toBe(2);
  expect(await weights()).toEqual([1 - 3, 2, 3, 4 - 3]);
  await training.dispose();
});

it("has NNabla's defaults: from 8, doubled after 2000 updates, halved on overflow", async () => {
  const { training } = await made();
  expect(training.training.precision.lossScaler).toMatchObject({
    options: { initialScale: 8, growthFactor: 2, backoffFactor: 0.5, growthInterval: 2000, hysteresis: 1 },
  });
  await training.dispose();
});

it("decays weights after unscaling", async () => {
  const { training, weights } = await made({ weightDecay: 0.5 });
  await training.update();
  expect(await weights()).toEqual([1 - (1 + 0.5), 2 - 1, 3 - 1.5, 4 - (1 + 2)]);
  await training.dispose();
});

it("awaits a feeder, and feeds nothing again for a retry", async () => {
  let fed = 0;
  const { training } = await made({
    scale: 2 ** 10,
    dataFeeder: () => {
      fed++;
      return Promise.resolve({ x: vector(2 ** 126, 0), y: vector(0, 0) });
    },
    solver: sgd({ learningRate: 0 }),
  });
  expect(await training.update()).toMatchObject({ applied: true, retries: 9, scale: 2 });
  expect(fed).toBe(1);
  await training.dispose();
});

describe("the gradients of other workers", () => {
  it("are added, all unless told", async () => {
    const { comm, seen } = hook((data) => data.map((value) => 3 * value));
    const { training, weights } = await made({ comm });
    await training.update();
    expect(seen).toEqual([[[8, 0], [0, 8], [0]]]);
    expect(await weights()).toEqual([1 - 3, 2, 3, 4 - 3]);
    await training.dispose();
  });

  it("are added where grads names them", async () => {
    const { comm, seen } = hook((data) => data.map((value) => 3 * value));
    const { training, weights } = await made({ comm, grads: ["b"] });
    await training.update();
    expect(seen).toEqual([[[0, 8], [0]]]);
    expect(await weights()).toEqual([1 - 1, 2, 3, 4 - 3]);
    await training.dispose();
  });

  it("a worker whose own gradient overflows tells the others, and one that is told backs off", async () => {
    const { comm, seen } = hook((data) => data);
    const dataFeeder = () => ({ x: vector(Number.POSITIVE_INFINITY, 0), y: vector(0, 1) });
    const own = await made({ comm, grads: ["b"], dataFeeder });
    expect((await own.training.update()).applied).toBe(false);
    expect(seen[0]).toEqual([[0, 8], [Number.NaN]]);
    let calls = 0;
    const reported = await made({
      comm: hook((data, index) => (index === 2 && calls++ === 0 ? Float32Array.of(Number.NaN) : data)).comm,
    });
    expect(await reported.training.update()).toMatchObject({ applied: true, retries: 1, scale: 4 });
    await own.training.dispose();
    await reported.training.dispose();
  });

  it("are as many as were given", async () => {
    const { training, weights } = await made({ comm: { allReduce: () => Promise.resolve([]) } });
    await expect(training.update()).rejects.toThrow("comm: allReduce got 3 tensors and returned 0");
    expect(await weights()).toEqual([1, 2, 3, 4]);
    await training.dispose();
  });
});

it.each<[Changes, string, string]>([
  [{ clearBuffer: false }, "MP_UNSUPPORTED", "updater: clearBuffer is false"],
  [{ scalingFactor: 1 }, "MP_INVALID_ARGUMENT", "scalingFactor must be a number above 1, got 1"],
  [{ N: 0 }, "MP_INVALID_ARGUMENT", "updater: N must be an integer ≥ 1"],
  [{ accumGrad: 0 }, "MP_INVALID_ARGUMENT", "updater: accumGrad must be an integer ≥ 1"],
  [{ grads: ["c"] }, "MP_INVALID_ARGUMENT", "updater: grads has c, the parameters are a, b"],
  [{ comm: {} as Communicator }, "MP_INVALID_ARGUMENT", "updater: comm must be an object with allReduce"],
  [{ dataFeeder: 5 as never }, "MP_INVALID_ARGUMENT", "updater: dataFeeder must be a function"],
  [{ scale: 0 }, "MP_INVALID_ARGUMENT", "initialScale"],
  [{ weightDecay: -1 }, "MP_INVALID_ARGUMENT", "weightDecay"],
])("refuses %o", async (changes, code, message) => {
  await expect(made(changes)).rejects.toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(message) }),
  );
});
