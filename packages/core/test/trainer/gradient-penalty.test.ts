// WGAN-GP (Gulrajani et al., arXiv 1704.00028): a loss that contains the gradient of a network, trained under scaling.

import { grad, type HostTensor, type Tensor } from "@mp/graph";
import {
  add,
  cast,
  conv,
  div,
  literal,
  matMul,
  mul,
  randomUniform,
  reduceMean,
  reduceSum,
  reshape,
  sqrt,
  sub,
} from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { gradientError, pointOf } from "../../../graph/test/finite-differences.js";
import { sgd } from "../../src/optim/sgd.js";
import { dynamicLossScale, staticLossScale } from "../../src/precision/loss-scaler.js";
import { float32, mixedFloat16, type Precision } from "../../src/precision/presets.js";
import { trainer } from "../../src/train/trainer.js";
import { wave } from "../small-run.js";

interface Critic {
  readonly kernel: Tensor;
  readonly bias: Tensor;
  readonly out: Tensor;
}

/** A score for each picture of [n, 1, 6, 6], times `size` in f32. */
function score({ kernel, bias, out }: Critic, pictures: Tensor, size = 1): Tensor {
  const features = conv(pictures, kernel, { strides: 2, bias });
  const [n = 0, ...rest] = features.shape;
  // Softplus-like and smooth, so that second derivatives are not zero almost everywhere.
  const active = mul(features, div(features, add(1, sqrt(add(1, mul(features, features))))));
  return mul(cast(matMul(reshape(active, [n, rest.reduce((a, b) => a * b, 1)]), out), "f32"), size);
}

/** ‖∇ₓ score‖ of each picture. With a `seed` the gradient is computed at that scale and unscaled in f32. */
function norms(critic: Critic, pictures: Tensor, { size = 1, seed = 1 } = {}): Tensor {
  const total = (x: Tensor): Tensor => reduceSum(score(critic, x, size));
  const scaled = grad(total, { seed: literal(seed) })(pictures);
  const inner = div(cast(scaled, "f32"), seed);
  return sqrt(add(reduceSum(mul(inner, inner), { axes: [1, 2, 3] }), 1e-24));
}

/** mean (‖∇ₓ score‖ - 1)². */
function penalty(critic: Critic, pictures: Tensor): Tensor {
  const excess = sub(norms(critic, pictures), 1);
  return reduceMean(mul(excess, excess));
}

it("the gradient of a penalty agrees with finite differences", () => {
  const points = [pointOf([2, 1, 3, 3], 1), pointOf([2], 2), pointOf([8, 1], 3), pointOf([2, 1, 6, 6], 4)];
  const fn = (...[kernel, bias, out, pictures]: readonly Tensor[]): Tensor =>
    penalty({ kernel, bias, out } as Critic, pictures as Tensor);
  expect(gradientError(fn, points)).toBeLessThan(1e-6);
});

const params = () => ({ kernel: wave([2, 1, 3, 3], 0.6), bias: wave([2], 0.3), out: wave([8, 1], 1.1) });
const batch = (step: number): { readonly real: HostTensor; readonly fake: HostTensor } => ({
  real: wave([4, 1, 6, 6], 0.31 + step),
  fake: wave([4, 1, 6, 6], 0.77 + step),
});

const start = async (precision: Precision) =>
  trainer({
    backend: await reference(),
    precision,
    params: params(),
    optimizer: sgd({ learningRate: 0.02 }),
    onWarning: () => {},
    loss: (critic, { real, fake }: { real: Tensor; fake: Tensor }, { key }) => {
      const share = randomUniform(key, [4, 1, 1, 1]);
      const between = add(mul(real, share), mul(fake, sub(1, share)));
      const gap = sub(reduceMean(score(critic, fake)), reduceMean(score(critic, real)));
      return add(gap, mul(penalty(critic, between), 10));
    },
  });

/** Losses and gradient norms of some steps of WGAN-GP. */
async function train(precision: Precision): Promise<[number, number][]> {
  await using training = await start(precision);
  const made: [number, number][] = [];
  for (let step = 0; step < 5; step++) {
    const { loss, gradNorm, applied } = await training.step(batch(step));
    expect(applied).toBe(true);
    made.push([loss, gradNorm]);
  }
  return made;
}

/** The largest relative difference between two lists of losses and norms. */
const apart = (a: readonly [number, number][], b: readonly [number, number][]): number =>
  Math.max(
    ...a.flatMap((pair, at) =>
      pair.map((x, of) => Math.abs(x - (b[at]?.[of] ?? Number.NaN)) / Math.max(1e-3, Math.abs(x))),
    ),
  );

describe("in f16", () => {
  const scalers = {
    static: staticLossScale(1024),
    dynamic: dynamicLossScale({ initialScale: 2 ** 6, growthInterval: 2, maxScale: 2 ** 8 }),
  };
  it.each(Object.entries(scalers))("a %s scale leaves the penalty as it is in f32", async (_, lossScaler) => {
    const exact = await train(float32());
    const scaled = await train({ ...mixedFloat16(), lossScaler });
    expect(apart(exact, scaled)).toBeLessThan(0.02);
  });

  it("the loss scale is not in the inner gradient: the same loss at any scale", async () => {
    const at = (scale: number) => train({ ...mixedFloat16(), lossScaler: staticLossScale(scale) });
    expect(apart(await at(1), await at(2 ** 10))).toBeLessThan(0.02);
  });

  it("inner gradients below f16 are lost at any loss scale, unless their own seed scales them", async () => {
    const size = 2 ** -30;
    const largest = async (precision: Precision, seed: number): Promise<number> => {
      await using training = await start(precision);
      const { result } = await training.predict(
        (critic, { real }: { real: Tensor }) => ({ result: norms(critic, real, { size, seed }) }),
        { real: batch(0).real },
      );
      return Math.max(...(result.data as Float32Array));
    };
    const f16: Precision = { ...mixedFloat16(), lossScaler: staticLossScale(2 ** 10) };
    const exact = await largest(float32(), 1);
    expect(exact).toBeGreaterThan(1e-10);
    // What is left is the epsilon under the root.
    expect(await largest(f16, 1)).toBeCloseTo(1e-12, 13);
    expect((await largest(f16, 2 ** 30)) / exact).toBeCloseTo(1, 2);
  });
});
