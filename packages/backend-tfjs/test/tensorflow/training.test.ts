import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ort } from "@mp/backend-ort";
import { float32, mixed, momentum, type Precision, trainer } from "@mp/core";
import { type Backend, key, tensor } from "@mp/graph";
import { dense, relu, sequential, softmaxCrossEntropy } from "@mp/nn";
import { describe, expect, it, onTestFinished } from "vitest";
import { tfjs } from "../../src/index.js";
import { withTensorFlow } from "./installed-tensorflow.js";

const model = sequential(dense(8, 32), relu, dense(32, 3));

/** The class is the index of the largest of three coordinates. */
function batch(step: number) {
  const x = Float32Array.from({ length: 64 * 8 }, (_, at) => Math.sin(at * 12.9898 + step * 78.233));
  const y = Int32Array.from({ length: 64 }, (_, row) => {
    const scores = [...x.subarray(row * 8, row * 8 + 3)];
    return scores.indexOf(Math.max(...scores));
  });
  return { x: tensor(x, [64, 8]), y: tensor(y) };
}

const open = (backend: Backend, precision: Precision | ReturnType<typeof mixed> = float32()) =>
  trainer({
    backend,
    params: model.init(key(5)),
    loss: (params, { x, y }, context) => softmaxCrossEntropy(model.apply(params, x, context), y),
    optimizer: momentum({ learningRate: 0.1 }),
    precision,
    onWarning: () => undefined,
  });

async function losses(
  training: Awaited<ReturnType<typeof open>>,
  from: number,
  to: number,
): Promise<number[]> {
  const curve: number[] = [];
  for (let step = from; step < to; step++) curve.push((await training.step(batch(step))).loss);
  return curve;
}

async function scratchFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mp-tfjs-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "run.safetensors");
}

await withTensorFlow((tf) => {
  const engines = { ort: () => ort(), tfjs: () => tfjs({ tf }) };

  describe("training", () => {
    it("learns in what mixed() picks, as it does in float32", async () => {
      const backend = await tfjs({ tf });
      const training = await open(backend, mixed());
      const half = backend.manifest.dtypes.bf16;
      const isNative = "compute" in half && half.compute === "native";
      expect(training.precision.policy.compute).toBe(isNative ? "bf16" : "f32");
      const curve = await losses(training, 0, 60);
      const exact = await losses(await open(backend), 0, 60);
      expect(curve.at(-1)).toBeLessThan(0.5 * (curve[0] as number));
      for (const [step, loss] of curve.entries())
        expect(Math.abs(loss - (exact[step] as number))).toBeLessThan(0.03);
      await backend.dispose();
    });

    it.each([
      ["ort", "tfjs"],
      ["tfjs", "ort"],
    ] as const)("goes on in another engine: %s, then %s", async (first, second) => {
      const path = await scratchFile();
      const [one, two] = [await engines[first](), await engines[second]()];
      const begun = await open(one);
      await losses(begun, 0, 10);
      await begun.save(path);
      const whole = await losses(begun, 10, 30);
      const resumed = await open(two);
      await resumed.load(path);
      const rest = await losses(resumed, 10, 30);
      for (const [step, loss] of rest.entries())
        expect(Math.abs(loss - (whole[step] as number))).toBeLessThan(1e-4 * (whole[step] as number));
      await one.dispose();
      await two.dispose();
    });
  });
});
