import { type Backend, float32 } from "@mp/core";
import { reference } from "@mp/core/reference";
import { describe, expect, it } from "vitest";
import { LSTM_FORMS } from "./basic-lstm.js";
import { BOTTLENECK_NET_SIZES, bottleneckNet } from "./bottleneck-net.js";
import { encoder } from "./encoder.js";
import { tokenValues, uniformValues } from "./hash-values.js";
import { initialValues } from "./initial-values.js";
import { mlp } from "./mlp.js";
import { residualNet } from "./residual-net.js";
import { wordModel } from "./word-model.js";
import type { Workload } from "./workload.js";

const at = (values: ArrayLike<number>, ...places: readonly number[]): readonly (number | undefined)[] =>
  places.map((place) => values[place]);

describe("hashed values", () => {
  it("are the same numbers as in every other language", () => {
    expect([...uniformValues(1, 4, Math.sqrt(3))]).toEqual([
      0.3748195469379425, 0.1734888255596161, -1.2722684144973755, -1.7061840295791626,
    ]);
    expect([...tokenValues(1, 8, 10_000)]).toEqual([3797, 3817, 1382, 931, 9769, 3350, 8227, 3208]);
    expect([...tokenValues(2, 8, 8192)]).toEqual([7717, 3310, 5956, 2649, 2268, 7086, 3756, 6537]);
  });

  it("give each parameter a seed of its own, constants counted", () => {
    const draw = initialValues();
    const table = draw.uniform([10_000, 512], 0.05);
    expect(at(table.data, 0, 1, table.data.length - 1)).toEqual([
      0.021501177921891212, -0.04207215458154678, -0.031290601938962936,
    ]);
    const first = draw.uniform([512, 2048], 0.05);
    expect(at(first.data, 0, 1)).toEqual([0.019222676753997803, -0.01648932695388794]);
    for (let skipped = 0; skipped < 5; skipped++) draw.zeros([1]);
    const softmax = draw.uniform([512, 10_000], 0.05);
    expect(at(softmax.data, 0, softmax.data.length - 1)).toEqual([
      -0.01201940793544054, -0.00829420704394579,
    ]);
  });
});

/** Losses of a workload at a tiny size, on the oracle, as reported. */
async function losses(workload: Workload, backend: Backend, steps: number): Promise<readonly number[]> {
  const training = await workload.train(backend, float32());
  const found: number[] = [];
  for (let step = 0; step < steps; step++) found.push((await training.step()).loss / workload.lossDivisor);
  await training.dispose();
  return found;
}

const tiny: Readonly<Record<string, () => Workload>> = {
  mlp: () => mlp({ batch: 4, size: 8, layers: 3 }),
  "word model": () => wordModel({ batch: 2, time: 5, vocabulary: 11, cells: 4, layers: 2 }),
  encoder: () => encoder({ batch: 2, time: 7, vocabulary: 13, size: 8, heads: 2, hidden: 12, layers: 2 }),
};

describe("workloads", () => {
  it.each(Object.entries(tiny))("%s: learns its batch", async (_name, make) => {
    const found = await losses(make(), await reference(), 4);
    expect(found.at(-1)).toBeLessThan(found[0] ?? 0);
  });

  it("start at the loss that uniform guessing has", async () => {
    const [word] = await losses(tiny["word model"]?.() as Workload, await reference(), 1);
    expect(word).toBeCloseTo(Math.log(11), 2);
    const [hidden] = await losses(tiny["encoder"]?.() as Workload, await reference(), 1);
    expect(hidden).toBeCloseTo(Math.log(13), 1);
  });

  it.each(Object.entries(tiny))("%s: the plain step learns the same", async (_name, make) => {
    const workload = make();
    const safe = await losses(workload, await reference(), 4);
    const plain = await workload.trainPlain(await reference());
    for (const loss of safe) expect((await plain.step()) / workload.lossDivisor).toBeCloseTo(loss, 5);
    await plain.dispose();
  });

  it("encoder: learns the same with the operator attention", async () => {
    const sizes = { batch: 2, time: 7, vocabulary: 13, size: 8, heads: 2, hidden: 12, layers: 2 };
    const written = await losses(encoder(sizes), await reference(), 3);
    const found = await losses(encoder(sizes, true), await reference(), 3);
    written.forEach((loss, step) => {
      expect(found[step]).toBeCloseTo(loss, 5);
    });
  });

  it("word model: learns the same with fewer products and with more", async () => {
    const [time, layers] = [5, 2];
    const sizes = { batch: 2, time, vocabulary: 11, cells: 4, layers };
    const products: number[] = [];
    const found: (readonly number[])[] = [];
    for (const form of LSTM_FORMS) {
      const workload = wordModel(sizes, form);
      found.push(await losses(workload, await reference(), 4));
      const training = await workload.train(await reference(), float32());
      const { nodes } = training.graph();
      const isForward = nodes.filter(({ origin }) => origin.phase === "forward");
      products.push(isForward.filter(({ op }) => op === "MatMul" || op === "Gemm").length);
      await training.dispose();
    }
    const [fused = [], ...others] = found;
    for (const [step, loss] of fused.entries())
      for (const other of others) expect(other[step]).toBeCloseTo(loss, 5);
    // Each form has one more product, before the softmax.
    expect(products).toEqual([layers * (1 + time) + 1, layers * time + 1, layers * 4 * time + 1]);
  });

  it("bottleneck net: learns its batch, from a loss near that of guessing", async () => {
    const workload = bottleneckNet({ batch: 4, size: 32, width: 4, blocks: [1, 2], classes: 5 });
    const found = await losses(workload, await reference(), 4);
    expect(found[0]).toBeGreaterThan(Math.log(5) / 2);
    expect(found.at(-1)).toBeLessThan(found[0] ?? 0);
  });

  it("bottleneck net: has the work of ResNet-50, and of each of its stages", () => {
    const { title, matrixFlops } = bottleneckNet({ ...BOTTLENECK_NET_SIZES, batch: 1 });
    expect(title).toBe("ResNet-50 of width 64 on images of 224 by 224, batch 1");
    // 4.09 billion multiply-adds forward (torchvision), three times that except for the images' gradient.
    expect(matrixFlops / 1e9).toBeCloseTo(3 * 2 * 4.089 - 0.236, 1);
  });

  it("residual net: learns its batch, from a loss near that of guessing", async () => {
    const workload = residualNet({ batch: 8, size: 8, widths: [4, 8], blocks: 1, classes: 5 });
    const found = await losses(workload, await reference(), 4);
    expect(found[0]).toBeGreaterThan(Math.log(5) / 2);
    expect(found.at(-1)).toBeLessThan(found[0] ?? 0);
    await expect(async () => workload.trainPlain(await reference())).rejects.toThrow(/carries no statistics/);
  });
});
