// Training with scans: on an engine that has loops, and on one for which core unrolls them.

import { type Backend, remat, type Tensor, tensor } from "@mp/graph";
import { kernelBackend } from "@mp/graph/backend";
import { add, log, matMul, reduceMean, scan, square, sub, tanh } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import type { KernelManifest } from "../../../graph/src/backend/manifest.js";
import { arithmetics } from "../../../graph/src/reference/elements/arithmetic.js";
import { fromHost, toHost } from "../../../graph/src/reference/elements/host.js";
import type { Store } from "../../../graph/src/reference/elements/store.js";
import { referenceKernels } from "../../../graph/src/reference/kernels.js";
import { runGraph } from "../../../graph/src/reference/run-graph.js";
import { adam } from "../../src/optim/adam.js";
import { float32, mixedBfloat16, mixedFloat16, type Precision } from "../../src/precision/presets.js";
import type { Traced } from "../../src/train/definition/loss.js";
import { trainer } from "../../src/train/trainer.js";
import { wave } from "../small-run.js";

const STEPS = 6;
const params = {
  input: wave([3, 4], 0.3),
  hidden: wave([4, 4], 0.7),
  bias: wave([4], 1.1),
  out: wave([4, 1], 1.3),
};
type Params = typeof params;
type Batch = { readonly x: Tensor; readonly y: Tensor };

const network =
  (isRecomputed: boolean, activation: (x: Tensor) => Tensor = tanh) =>
  (p: Traced<Params>, { x, y }: Batch): Tensor => {
    const step = (h: Tensor, element: Tensor): readonly [Tensor, Tensor] => {
      const next = activation(add(add(matMul(h, p.hidden), element), p.bias));
      return [next, next];
    };
    const start = matMul(x, p.input);
    const [last] = scan(isRecomputed ? remat(step) : step, sub(reduceMean(start, { axes: [0] }), 1), start);
    return reduceMean(square(sub(matMul(last, p.out), y)));
  };

const batch = { x: wave([STEPS, 2, 3], 0.9), y: tensor(Float32Array.of(0.5, -0.5), [2, 1]) };

/** The reference without its loop. */
async function withoutLoops(): Promise<Backend> {
  const whole = await reference();
  const { Scan: _none, ...kernels } = referenceKernels;
  return kernelBackend<Store>({
    name: "without loops",
    manifest: whole.manifest as KernelManifest,
    kernels: Object.fromEntries(
      Object.entries(kernels).map(([op, kernel]) => [
        op,
        (inputs: never, attributes: never, outputs: never) =>
          kernel(inputs, attributes as never, outputs, arithmetics.exact, runGraph),
      ]),
    ),
    upload: (data) => fromHost(data, arithmetics.exact),
    download: toHost,
    bytes: (data) => data.byteLength,
  });
}

async function losses(backend: Backend, precision: () => Precision, isRecomputed = false): Promise<number[]> {
  await using training = await trainer({
    backend,
    params,
    loss: network(isRecomputed),
    optimizer: adam({ learningRate: 0.02 }),
    precision: precision(),
  });
  const found: number[] = [];
  for (let step = 0; step < 8; step++) found.push((await training.step(batch)).loss);
  return found;
}

describe.each([
  ["float32", float32, 6],
  ["mixedFloat16", mixedFloat16, 3],
  ["mixedBfloat16", mixedBfloat16, 2],
] as const)("loops in %s", (_, precision, digits) => {
  it("train as their unrolled steps do, kept or recomputed", async () => {
    const looped = await losses(await reference(), precision);
    const unrolled = await losses(await withoutLoops(), precision);
    const recomputed = await losses(await reference(), precision, true);
    expect(looped.at(-1)).toBeLessThan((looped[0] ?? 0) / 2);
    looped.forEach((loss, step) => {
      expect(unrolled[step]).toBeCloseTo(loss, digits);
      expect(recomputed[step]).toBeCloseTo(loss, digits);
    });
  });
});

it("reports on the values in loops, and names what is not finite in one", async () => {
  await using training = await trainer({
    backend: await reference(),
    params,
    loss: network(false),
    optimizer: adam({ learningRate: 0.02 }),
    precision: mixedFloat16(),
  });
  await training.step(batch);
  const report = await training.precisionReport(batch);
  expect(JSON.stringify(report)).toContain("activation");

  await using broken = await trainer({
    backend: await reference(),
    params,
    loss: network(false, (x) => log(sub(x, 100))),
    optimizer: adam({ learningRate: 0.02 }),
    precision: float32(),
  });
  expect(JSON.stringify(await broken.diagnose([batch]))).toContain("Log");
});

it("is one graph for any number of steps", async () => {
  const nodes = async (steps: number): Promise<number> => {
    await using training = await trainer({
      backend: await reference(),
      params,
      loss: network(false),
      optimizer: adam({ learningRate: 0.02 }),
      precision: mixedBfloat16(),
    });
    return training.graph({ ...batch, x: wave([steps, 2, 3], 0.9) }).nodes.length;
  };
  expect(await nodes(2000)).toBe(await nodes(20));
});
