import { type Backend, decode, encode, type Graph, GraphBuilder, type HostTensor, tensor } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { expect, it } from "vitest";
import { open } from "./open.js";

const REDUCTIONS = ["none", "add", "mul", "max", "min"] as const;
const ROWS = 6;
const COLUMNS = 3;
const DTYPES = ["f32", "f16", "bf16"] as const;

type Float = (typeof DTYPES)[number];

/** One update for each row of `data`. */
function oneARow(dtype: Float): Graph {
  const builder = new GraphBuilder();
  const data = builder.input("data", { dtype, shape: [ROWS, COLUMNS] }, "batch");
  const indices = builder.input("indices", { dtype: "i32", shape: [ROWS, 1] }, "batch");
  const updates = builder.input("updates", { dtype, shape: [ROWS, 1] }, "batch");
  const put = REDUCTIONS.map((reduction) => [
    reduction,
    builder.emitOne("ScatterElements", [data, indices, updates], { axis: 1, reduction }),
  ]);
  return builder.finish(Object.fromEntries(put));
}

const floats = (dtype: Float, values: readonly number[], columns: number): HostTensor =>
  dtype === "f32"
    ? tensor(Float32Array.from(values), [ROWS, columns])
    : tensor(
        Uint16Array.from(values, (value) => encode(dtype, value)),
        [ROWS, columns],
        dtype,
      );

const ofIndices = (...indices: readonly number[]): HostTensor => tensor(Int32Array.from(indices), [ROWS, 1]);

async function run(backend: Backend, dtype: Float, indices: HostTensor) {
  const executable = await backend.compile(oneARow(dtype));
  // Zeros of both signs, NaN and infinities, where an update goes and where it does not.
  const rows = [
    [-0, -0, 1],
    [0, -0, 2],
    [NaN, 1, NaN],
    [1.0009765625, 1, 0],
    [-3, 5, -0],
    [0, Infinity, 0],
  ];
  const outputs = await executable.run({
    data: floats(dtype, rows.flat(), COLUMNS),
    indices,
    updates: floats(dtype, [-0, 0, 1, 2049, NaN, 0], 1),
  });
  // NaNs of half dtypes differ in their bits.
  const read = (bits: number): number => (dtype === "f32" ? bits : decode(dtype, bits));
  return Object.entries(outputs).map(([name, { data }]) => [name, Array.from(data, Number).map(read)]);
}

it.each(DTYPES)("puts one %s in each row as the reference does", async (dtype) => {
  const [backend, expected] = [await open(), await reference()];
  const indices = ofIndices(0, -2, 2, 0, 2, 1);
  expect(await run(backend, dtype, indices)).toEqual(await run(expected, dtype, indices));
  for (const outside of [3, -4]) {
    await expect(run(backend, dtype, ofIndices(0, 0, outside, 0, 0, 0))).rejects.toMatchObject({
      code: "MP_OUT_OF_RANGE",
    });
  }
  await Promise.all([backend.dispose(), expected.dispose()]);
});
