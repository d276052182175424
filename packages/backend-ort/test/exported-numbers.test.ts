// Exported files give plain onnxruntime-node the numbers of a predictor where its own kernels have others.
import { float32, predictor } from "@mp/core";
import { attention, cast } from "@mp/core/ops";
import { type HostTensor, type Tensor, tensor } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { encodeModel, exportOnnx } from "@mp/onnx";
import fc from "fast-check";
import * as engine from "onnxruntime-node";
import { expect, it } from "vitest";

type Inputs = Readonly<Record<string, Tensor>>;

/** What the file and a predictor give for the same inputs. */
async function both(
  model: (inputs: Inputs) => Tensor,
  inputs: Readonly<Record<string, HostTensor<"f32">>>,
  opset: number,
): Promise<readonly (readonly number[])[]> {
  const shapes = Object.fromEntries(Object.entries(inputs).map(([name, { shape }]) => [name, { shape }]));
  const exported = exportOnnx((_, given: Inputs) => model(given), { params: {} }, { inputs: shapes, opset });
  const session = await engine.InferenceSession.create(encodeModel(exported));
  const feeds = Object.fromEntries(
    Object.entries(inputs).map(([name, { data, shape }]) => [
      name,
      new engine.Tensor("float32", new Float32Array(data), [...shape]),
    ]),
  );
  const made = await session.run(feeds);
  await session.release();
  const backend = await reference();
  const served = await predictor({
    backend,
    params: {},
    precision: float32(),
    model: (_weights: unknown, given: Inputs) => model(given),
  });
  const predicted = (await served.predict(inputs as never)) as HostTensor;
  await served.dispose();
  await backend.dispose();
  const [file] = Object.values(made);
  return [file?.data, predicted.data].map((data) => Array.from(data as Float32Array, Number));
}

const counted = (shape: readonly number[], by = 1): HostTensor<"f32"> =>
  tensor(
    Float32Array.from({ length: shape.reduce((product, size) => product * size, 1) }, (_, at) =>
      Math.sin(at * by),
    ),
    shape,
  );

const LOWEST = -3.4028234663852886e38;

it.each([21, 23])("attention with added masks, rows of the lowest number too, in opset %i", async (opset) => {
  const number = fc.constantFrom(0, -0.5, 1, LOWEST, -1e30, -1e9, Number.NEGATIVE_INFINITY);
  const mask = fc.array(number, { minLength: 6, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(mask, fc.constantFrom([2, 3], [1, 1, 2, 3]), async (numbers, shape) => {
      const rows = [numbers.slice(0, 3), numbers.slice(3)];
      // A row of -∞ and other numbers beyond the scores attends to nothing or to them: both give the same.
      const inputs = {
        q: counted([1, 1, 2, 4]),
        k: counted([1, 1, 3, 4], 2),
        v: counted([1, 1, 3, 4], 3),
        mask: tensor(Float32Array.from(rows.flat()), shape),
      };
      const [file = [], ours = []] = await both(
        ({ q, k, v, mask }) => attention(q as Tensor, k as Tensor, v as Tensor, { mask: mask as Tensor }),
        inputs,
        opset,
      );
      for (const [at, want] of ours.entries())
        expect(Math.abs((file[at] as number) - want)).toBeLessThan(1e-5);
    }),
    {
      numRuns: 25,
      examples: [
        [
          [0, 0, LOWEST, LOWEST, LOWEST, LOWEST],
          [2, 3],
        ],
      ],
    },
  );
});

it.each(["f8e4m3", "f8e5m2"] as const)("casts to %s, up to what overflows", async (dtype) => {
  const ends = [448, 464, 480, 512, 57344, 61439, 61440, 61441, 65536, 1e30, Number.POSITIVE_INFINITY];
  const numbers = [
    ...ends,
    ...ends.map((end) => -end),
    463.99,
    464.1,
    2 ** -9,
    1.5 * 2 ** -10,
    2 ** -17,
    1.0625,
    19,
    0,
    Number.NaN,
  ];
  const x = tensor(Float32Array.from(numbers));
  for (const via of ["f32", "f16", "bf16"] as const)
    for (const opset of [21, 23]) {
      const [file, ours] = await both(
        ({ x }) => cast(cast(cast(x as Tensor, via), dtype), "f32"),
        { x },
        opset,
      );
      expect(file, `${via} ${opset}`).toEqual(ours);
    }
});
