import { encodeArray, tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { toTf } from "../../src/index.js";
import { withTensorFlow } from "./installed-tensorflow.js";

interface TfTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  dataSync(): ArrayLike<number>;
  dispose(): void;
}
interface Tf {
  tensor(values: Float32Array | Int32Array | Uint8Array, shape: number[], dtype: never): TfTensor;
  memory(): { readonly numTensors: number };
}

await withTensorFlow((node) => {
  const tf = node as unknown as Tf;

  describe("toTf", () => {
    it("gives each tensor of a tree as tfjs's own, with the same numbers", () => {
      const before = tf.memory().numTensors;
      const halves = Float32Array.of(0.5, -65504, Number.POSITIVE_INFINITY, -0);
      const made = toTf(tf, {
        half: tensor(encodeArray("f16", halves), [2, 2], "f16"),
        list: [tensor(Int32Array.of(7, -1)), tensor(Float32Array.of(0.1))],
        flag: tensor(Uint8Array.of(1, 0), [2], "bool"),
      });
      const reported = [made.half, ...made.list, made.flag].map((own) => [
        own.dtype,
        own.shape,
        [...Array.from(own.dataSync())],
      ]);
      expect(reported).toEqual([
        ["float32", [2, 2], [...halves]],
        ["int32", [2], [7, -1]],
        ["float32", [1], [Math.fround(0.1)]],
        ["bool", [2], [1, 0]],
      ]);
      for (const own of [made.half, ...made.list, made.flag]) own.dispose();
      expect(tf.memory().numTensors).toBe(before);
    });

    it("refuses what tfjs has no numbers for", () => {
      const wide = tensor(BigInt64Array.of(1n), [1], "i64");
      expect(() => toTf(tf, wide)).toThrowError(expect.objectContaining({ code: "MP_UNSUPPORTED" }));
    });
  });
});
