// Bugs that others reported, as inputs of a trainer. Each name begins with the report, as docs/public-bugs.md lists it.
import { decodeArray, type HostTensor, isHalf, remat, type Tensor, tensor } from "@mp/graph";
import { add, cast, matMul, mul, reduceMean, reduceSum, relu } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { adafactor, adamax, lamb, nadam, radam } from "../src/entries/optim.js";
import {
  adagrad,
  adam,
  adamW,
  bfloat16,
  dynamicLossScale,
  f32Master,
  float16,
  mixedBfloat16,
  mixedFloat16,
  type Optimizer,
  type Precision,
  rmsProp,
  sgd,
  staticLossScale,
  stochasticRounding,
  type TrainerOptions,
  trainer,
} from "../src/index.js";

type Weights = { readonly w: HostTensor<"f32"> };
type Batch = { readonly x: Tensor };
type Nothing = Readonly<Record<never, never>>;
type Options = Omit<TrainerOptions<Weights, Batch, Nothing>, "backend" | "params" | "loss">;

const f32 = (...numbers: readonly number[]): HostTensor<"f32"> => tensor(Float32Array.from(numbers));
const full = (count: number, value: number): HostTensor<"f32"> => tensor(new Float32Array(count).fill(value));

/** A run whose gradient of w is the batch's x. */
async function linear(start: HostTensor<"f32">, options: Options) {
  return trainer<Weights, Batch>({
    backend: await reference(),
    params: { w: start },
    loss: ({ w }, { x }) => reduceSum(mul(w, x)),
    onWarning: () => undefined,
    ...options,
  });
}

const numbersOf = ({ dtype, data }: HostTensor): readonly number[] =>
  Array.from(isHalf(dtype) ? decodeArray(dtype, data as Uint16Array) : (data as Float32Array), Number);

/** The weights after a step on each batch, all applied. */
async function after(start: HostTensor<"f32">, batches: readonly HostTensor[], options: Options) {
  const training = await linear(start, options);
  for (const x of batches) {
    const { applied } = await training.step({ x: { ...x, data: x.data.slice() } as HostTensor });
    expect(applied, "applied").toBe(true);
  }
  const { w } = await training.parameters();
  await training.dispose();
  return numbersOf(w as HostTensor);
}

const at = (lossScaler: Precision["lossScaler"], precision = mixedFloat16()): Precision => ({
  ...precision,
  lossScaler,
});

describe("clipping by the norm", () => {
  it("burn#5699: squares of a gradient in float16 do not overflow", async () => {
    const precision = float16();
    const training = await linear(f32(0), { optimizer: sgd({ learningRate: 1 }), precision, clipNorm: 1 });
    expect((await training.step({ x: f32(300) })).gradNorm).toBe(300);
    expect(numbersOf((await training.parameters()).w as HostTensor)).toEqual([-1]);
    await training.dispose();
  });

  it("unsloth-zoo#1261: a coefficient below float16 is not rounded before it multiplies", async () => {
    const options = { optimizer: sgd({ learningRate: 1 }), precision: float16(), clipNorm: 1e-3 };
    expect(await after(f32(0), [f32(40_000)], options)).toEqual([-0.0010004043579101562]);
  });

  it("Relax#44: gradients are unscaled once before it, and an overflow ends in a skipped step", async () => {
    const training = await linear(f32(0, 0), {
      optimizer: sgd({ learningRate: 1 }),
      precision: at(dynamicLossScale({ initialScale: 1024 }), { ...float16(), masterWeights: f32Master() }),
      clipNorm: 1,
    });
    expect(await training.step({ x: f32(3, 4) })).toMatchObject({ applied: true, gradNorm: 5, scale: 1024 });
    const [a, b] = numbersOf((await training.parameters()).w as HostTensor);
    expect(a).toBeCloseTo(-0.6, 6);
    expect(b).toBeCloseTo(-0.8, 6);
    expect(await training.step({ x: f32(300, 4) })).toMatchObject({ applied: false, scale: 1024 });
    expect((await training.counters()).scale).toBe(512);
    await training.dispose();
  });
});

describe("optimizers beside halves", () => {
  it("ao#4915: Adam counts beyond 256 where its moments are in bfloat16", async () => {
    const optimizer = adam({ learningRate: 1e-3, states: "bf16", rounding: "stochastic" });
    const steps = new Array<HostTensor>(600).fill(f32(0.1));
    const [w = Number.NaN] = await after(f32(1), steps, { optimizer, precision: mixedBfloat16() });
    // With a count that stops at 256 it is 0.46.
    expect(Math.abs(w - 0.4)).toBeLessThan(0.02);
  });

  it("nanochat#741, tt-metal#55935: Adam's rates of decay are not rounded to the parameters' dtype", async () => {
    const gradients = [0.5, -0.25, 1];
    let [w, m, v] = [0, 0, 0];
    for (const [step, g] of gradients.entries()) {
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      w -= (0.01 * m) / (1 - 0.9 ** (step + 1)) / (Math.sqrt(v / (1 - 0.999 ** (step + 1))) + 1e-8);
    }
    for (const precision of [bfloat16(), float16()].map((one) => ({ ...one, masterWeights: f32Master() }))) {
      const optimizer = adam({ learningRate: 0.01 });
      const [got] = await after(
        f32(0),
        gradients.map((g) => f32(g)),
        { optimizer, precision },
      );
      expect(got).toBeCloseTo(w, 7);
    }
  });

  it("OneTrainer#996, OneTrainer#994: decay below bfloat16's last place moves weights that round at random", async () => {
    const precision = { ...bfloat16(), masterWeights: stochasticRounding() };
    const optimizer = adamW({ learningRate: 1e-3, weightDecay: 0.1 });
    const weights = await after(full(4096, 1), new Array<HostTensor>(100).fill(full(4096, 0)), {
      optimizer,
      precision,
    });
    const mean = weights.reduce((sum, w) => sum + w, 0) / weights.length;
    // Five standard deviations of the mean of 4096 walks are 5e-4.
    expect(Math.abs(mean - (1 - 1e-4) ** 100)).toBeLessThan(5e-4);
  });

  it("optax#1754: a gradient of 0 leaves weights in float16 alone, whatever ε", async () => {
    const options = { learningRate: 0.5 };
    const makers = [adam, adamW, rmsProp, adagrad, adamax, nadam, radam, adafactor, lamb];
    for (const make of makers) {
      const optimizer: Optimizer = make(options);
      const decay = make === adamW ? 1 - 0.5 * 0.01 : 1;
      const [still, moved] = await after(f32(1, 1), [f32(0, 1), f32(0, 1)], {
        optimizer,
        precision: float16(),
      });
      expect(Math.abs((still ?? Number.NaN) - decay ** 2), optimizer.name).toBeLessThan(1e-3);
      expect(Number.isFinite(moved)).toBe(true);
    }
  });
});

describe("steps that are skipped", () => {
  it("accelerate#4242: leave the schedule where it is, and are told as skipped", async () => {
    const seen: (readonly [rate: number, applied: boolean])[] = [];
    const training = await linear(f32(0), {
      optimizer: adamW({ learningRate: (count) => mul(add(cast(count, "f32"), 1), 0.125) }),
      precision: at(staticLossScale(1), float16()),
    });
    for (const x of [1, Number.POSITIVE_INFINITY, 1]) {
      const { rates, applied } = await training.step({ x: f32(x) });
      seen.push([rates["default"] ?? Number.NaN, applied]);
    }
    expect(seen).toEqual([[0.125, true], [0.25, false], [0.25, true]]); // biome-ignore format: one run
    await training.dispose();
  });

  it("miles#611: tell a norm that is not finite", async () => {
    const training = await linear(f32(0), { optimizer: sgd({ learningRate: 1 }), precision: float16() });
    const { applied, gradNorm } = await training.step({ x: f32(1e6) });
    expect([applied, Number.isFinite(gradNorm)]).toEqual([false, false]);
    await training.dispose();
  });

  it("Soup#546: while the first scale falls are no failure: the run goes on and is saved", async () => {
    const precision = at(dynamicLossScale({ initialScale: 2 ** 24 }));
    const loss = ({ w }: { readonly w: Tensor }, { x }: Batch): Tensor => reduceMean(matMul(x, w));
    const training = await trainer<Weights, Batch>({
      backend: await reference(),
      params: { w: tensor(new Float32Array(4).fill(1), [4, 1]) },
      loss,
      optimizer: sgd({ learningRate: 0.1 }),
      precision,
      onWarning: () => undefined,
    });
    const x = tensor(new Float32Array(8).fill(1), [2, 4]);
    await training.fit(new Array(20).fill({ x }), { epochs: 1 });
    const { applied, skipped } = await training.counters();
    expect(skipped).toBeGreaterThan(1);
    expect(applied).toBeGreaterThan(5);
    expect((await training.saveBytes()).length).toBeGreaterThan(0);
    await training.dispose();
  });
});

it("accelerate#4289: a loss scale and its count of good steps are loaded as they were saved", async () => {
  const options = {
    optimizer: sgd({ learningRate: 1 }),
    precision: at(dynamicLossScale({ initialScale: 1024, growthInterval: 2 })),
  };
  const [saved, loaded] = [await linear(f32(0), options), await linear(f32(0), options)];
  await saved.step({ x: f32(1) });
  await loaded.loadBytes(await saved.saveBytes());
  const scales = [(await loaded.counters()).scale];
  for (let step = 0; step < 3; step++) {
    await loaded.step({ x: f32(1) });
    scales.push((await loaded.counters()).scale);
  }
  expect(scales).toEqual([1024, 2048, 2048, 4096]);
  await saved.dispose();
  await loaded.dispose();
});

it("fairscale#1199: a part that is computed again has the dtypes, and so the bits, of the first time", async () => {
  const make = async (again: boolean) => {
    const part = (x: Tensor, w: Tensor): Tensor => relu(matMul(relu(matMul(x, w)), w));
    return trainer<Weights, Batch>({
      backend: await reference(),
      params: {
        w: tensor(
          Float32Array.from({ length: 16 }, (_, i) => Math.sin(i + 1)),
          [4, 4],
        ),
      },
      loss: ({ w }, { x }) => reduceMean(again ? remat(part)(x, w) : part(x, w)),
      optimizer: sgd({ learningRate: 0.1 }),
      precision: mixedBfloat16(),
      onWarning: () => undefined,
    });
  };
  const runs = [await make(false), await make(true)];
  const results = [];
  for (const training of runs) {
    const x = tensor(
      Float32Array.from({ length: 8 }, (_, i) => Math.cos(i)),
      [2, 4],
    );
    const losses = [];
    for (let step = 0; step < 3; step++) losses.push((await training.step({ x })).loss);
    results.push([losses, (await training.parameters()).w]);
    await training.dispose();
  }
  expect(results[1]).toEqual(results[0]);
});

it("autoresearch-mlx#3, attorch#12: a scalar in float32 leaves the stream in bfloat16, and so do products", async () => {
  type Scaled = { readonly w: HostTensor<"f32">; readonly scale: HostTensor<"f32"> };
  const square = tensor(new Float32Array(16).fill(0.25), [4, 4]);
  const training = await trainer<Scaled, Batch>({
    backend: await reference(),
    params: { w: square, scale: tensor(Float32Array.of(1), []) },
    loss: ({ w, scale }, { x }) => reduceMean(matMul(mul(scale, matMul(x, w)), w)),
    optimizer: sgd({ learningRate: 0.1 }),
    precision: mixedBfloat16(),
    onWarning: () => undefined,
  });
  const { nodes } = await training.explain({ x: tensor(new Float32Array(8), [2, 4]) });
  const dtypes = nodes
    .filter(({ op }) => ["MatMul", "Mul"].includes(op))
    .map(({ op, dtype }) => `${op} ${dtype}`);
  expect(dtypes.slice(0, 3)).toEqual(["MatMul bf16", "Mul bf16", "MatMul bf16"]);
  await training.dispose();
});

it("ai-toolkit#1034, lerobot#4652: an average follows the weights, and stays where a step is skipped", async () => {
  const training = await linear(f32(2), {
    optimizer: sgd({ learningRate: 1 }),
    precision: float16(),
    ema: { decay: 0.99 },
  });
  const averages: number[] = [];
  for (const x of [0, 1, Number.POSITIVE_INFINITY]) {
    await training.step({ x: f32(x) });
    const { w } = await training.parameters({ weights: "ema" });
    averages.push(...numbersOf(w as HostTensor));
  }
  expect(averages.map((x) => x.toFixed(4))).toEqual(["2.0000", "1.9900", "1.9900"]);
  await training.dispose();
});
