import { type Backend, type DType, full, GraphBuilder, type Value, type ValueType } from "@mp/graph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openvino } from "../../src/index.js";

let backend: Backend;
beforeAll(async () => {
  backend = await openvino();
});
afterAll(() => backend.dispose());

/** The dtypes and numbers of the outputs of a graph whose input is filled with a number. */
async function outputsOf(
  type: ValueType,
  build: (builder: GraphBuilder, x: Value) => Readonly<Record<string, Value>>,
  filling = 1,
): Promise<Readonly<Record<string, readonly [DType, readonly number[]]>>> {
  const builder = new GraphBuilder();
  const x = builder.input("x", type, "batch");
  const executable = await backend.compile(builder.finish(build(builder, x)));
  const results = Object.entries(await executable.run({ x: full(type.shape, filling, type.dtype) }));
  await executable.dispose();
  return Object.fromEntries(
    results.map(([name, { dtype, data }]) => [name, [dtype, Array.from(data, Number)]]),
  );
}

it.each([[[]], [[1]]])("compiles %j that is unsqueezed and reshaped to a scalar", async (shape) => {
  const outputs = await outputsOf({ dtype: "f32", shape }, (builder, x) => {
    const longer = builder.emitOne("Unsqueeze", [x], { axes: [0] });
    return { longer, scalar: builder.emitOne("Reshape", [longer], { shape: [] }) };
  });
  expect(outputs).toEqual({ longer: ["f32", [1]], scalar: ["f32", [1]] });
});

it.each([
  ["f32", "f16", "f32", 0x3c00],
  ["f32", "bf16", "f32", 0x3f80],
  ["bool", "bool", "u8", 1],
] as const)("casts %s to %s, and that to %s, with both as outputs", async (of, narrow, to, one) => {
  const outputs = await outputsOf({ dtype: of, shape: [3] }, (builder, x) => {
    const first = builder.emitOne("Cast", [x], { to: narrow });
    return { second: builder.emitOne("Cast", [first], { to }), first };
  });
  expect(outputs).toEqual({ second: [to, [1, 1, 1]], first: [narrow, [one, one, one]] });
});

it.each(["ReduceMax", "ReduceMin"] as const)("keeps every bit of an i32 scalar in %s", async (op) => {
  const number = 2 ** 24 + 1;
  const outputs = await outputsOf(
    { dtype: "i32", shape: [] },
    (builder, x) => ({ y: builder.emitOne(op, [x], { axes: [], keepdims: false }) }),
    number,
  );
  expect(outputs).toEqual({ y: ["i32", [number]] });
});
