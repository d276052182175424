/**
 * Whole runs with operands of 8 bits beside nanochat's formula and torchao: bench/peers/float8_training.py. Here no sum's
 * last bit moves a number across the border between two codes. Once one does, as at a rate of 0.2, nanochat and torchao
 * differ from each other by up to 0.003.
 */
import { readFileSync } from "node:fs";
import { type HostTensor, type Tensor, tensor } from "@mp/graph";
import { matMul, mul, reduceMean, relu, sub, transpose } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { sgd } from "../../src/optim/sgd.js";
import { float32 } from "../../src/precision/presets.js";
import { float8 } from "../../src/precision/quantized-presets.js";
import { trainer } from "../../src/train/trainer.js";

interface Packed {
  readonly shape: readonly number[];
  readonly base64: string;
}
const fixture = JSON.parse(
  readFileSync(new URL("../fixtures/float8-training.json", import.meta.url), "utf8"),
) as {
  readonly rate: number;
  readonly weights: readonly Packed[];
  readonly batches: readonly { readonly x: Packed; readonly y: Packed }[];
  readonly losses: Readonly<Record<string, readonly number[]>>;
};
const unpacked = ({ shape, base64 }: Packed): HostTensor<"f32"> =>
  tensor(new Float32Array(Uint8Array.from(Buffer.from(base64, "base64")).buffer), shape);

const scopes = { "": true };
const precisions = {
  float32: float32(),
  nanochat: float8({ scopes }),
  "torchao tensorwise": float8({ scopes }),
  "torchao rowwise": float8({ scopes, granularity: "row", powerOfTwo: true, gradient: "f8e4m3" }),
};

describe("the losses of 50 steps are within 1e-3 of", () => {
  it.each(Object.entries(precisions))("%s", async (peer, precision) => {
    const want = fixture.losses[peer] as readonly number[];
    expect(want).toHaveLength(50);
    await using training = await trainer({
      backend: await reference(),
      params: fixture.weights.map(unpacked),
      loss: (weights, { x, y }: { readonly x: Tensor; readonly y: Tensor }) => {
        const layers = weights.map((weight) => (input: Tensor) => matMul(input, transpose(weight, [1, 0])));
        const wrong = sub(
          layers.reduce((input, layer, at) => layer(at === 0 ? input : relu(input)), x),
          y,
        );
        return reduceMean(mul(wrong, wrong));
      },
      optimizer: sgd({ learningRate: fixture.rate }),
      precision,
    });
    const differences: number[] = [];
    for (const [step, loss] of want.entries()) {
      const { x, y } = fixture.batches[step % fixture.batches.length] as (typeof fixture.batches)[number];
      const { loss: ours } = await training.step({ x: unpacked(x), y: unpacked(y) });
      differences.push(Math.abs(ours - loss));
    }
    expect(Math.max(...differences)).toBeLessThan(1e-3);
  });
});
