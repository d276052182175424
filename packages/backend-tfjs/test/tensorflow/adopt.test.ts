import { sgd, trainer } from "@mp/core";
import { type Tensor, tensor, zeros } from "@mp/graph";
import { matMul, mul, reduceMean, sub } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { fromTfData, tfjs } from "../../src/index.js";
import { withTensorFlow } from "./installed-tensorflow.js";

interface Batch {
  readonly x: Tensor;
  readonly y: Tensor;
}

/** The part of tfjs that these tests use. */
interface Tf {
  tensor(values: unknown, shape?: readonly number[], dtype?: string): TfTensor;
  memory(): { readonly numTensors: number };
  mul(a: TfTensor, b: TfTensor): TfTensor;
  readonly data: {
    array(rows: readonly object[]): { batch(size: number): never };
  };
}
interface TfTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  dispose(): void;
}

await withTensorFlow((node) => {
  const tf = node as unknown as Tf;
  const start = async () => {
    const backend = await tfjs({ tf: node });
    const training = await trainer({
      backend,
      params: { w: zeros([2, 1]) },
      loss: ({ w }, { x, y }: Batch) => {
        const error = sub(matMul(x, w), y);
        return reduceMean(mul(error, error));
      },
      optimizer: sgd({ learningRate: 0.1 }),
    });
    const end = async () => {
      await training.dispose();
      await backend.dispose();
    };
    return { backend, training, end };
  };
  const [x, y] = [Float32Array.of(1, 2, 3, 4), Float32Array.of(1, -1)];

  describe("tensors of tfjs in batches", () => {
    it("count as the same numbers on the host, fed or computed, and stay the user's", async () => {
      const [host, theirs] = [await start(), await start()];
      const want = await host.training.step({ x: tensor(x, [2, 2]), y: tensor(y, [2, 1]) });
      const half = tf.tensor([0.5, 1, 1.5, 2], [2, 2]);
      const two = tf.tensor(2);
      const given = { x: tf.mul(half, two), y: tf.tensor(y, [2, 1]) };
      const before = tf.memory().numTensors;
      for (let step = 0; step < 3; step++) {
        const got = await theirs.training.step(given);
        if (step === 0) expect(got).toEqual(want);
      }
      expect(tf.memory().numTensors).toBe(before);
      for (const own of [half, two, given.x, given.y]) own.dispose();
      await expect(theirs.training.step(given)).rejects.toMatchObject({ code: "MP_DISPOSED" });
      await host.end();
      await theirs.end();
    });

    it("are refused with what they are", async () => {
      const { backend, end } = await start();
      const text = tf.tensor(["a"], [1], "string");
      expect(() => backend.adopt?.(text)).toThrow(/tf\.Tensor is string.*cast it to float32/);
      expect(backend.adopt?.(new Date())).toBeUndefined();
      const flags = tf.tensor([1, 0], [2], "bool");
      expect(backend.adopt?.(flags)).toEqual({ dtype: "bool", shape: [2], data: Uint8Array.of(1, 0) });
      for (const own of [text, flags]) own.dispose();
      await end();
    });
  });

  it("a tf.data dataset feeds fit, pass after pass, and leaves nothing behind", async () => {
    const { training, end } = await start();
    const rows = Array.from({ length: 12 }, (_, i) => ({ x: [i / 12, 1], y: [i / 6] }));
    const data = fromTfData(tf.data.array(rows).batch(4));
    const before = tf.memory().numTensors;
    const { made } = await training.fit(data as never, { epochs: 2 });
    expect(made).toBe(6);
    expect(tf.memory().numTensors).toBe(before);
    expect((await training.counters()).applied).toBe(6);
    await end();
  });
});
