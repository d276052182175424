/** Powers whose logarithm has to be right beyond the 24 bits of f32: shaders' own are off by thousands of ulp there. */
import { GraphBuilder, tensor, ulpDistance } from "@mp/graph";
import { expect, it } from "vitest";
import { ort } from "../../src/index.js";

/** Bases and exponents near overflow and underflow, and beyond. */
const POWERS = [
  [0.9890462160110474, 5515.017578125],
  [0.05924532562494278, -29.428783416748047],
  [0.9999999403953552, -859_897_856],
  [1.0000001192092896, 700_000_000],
  [1.4350091218948364, -209.32598876953125],
  [1.390302300453186, 205.985107421875],
  [3.4e38, -0.98],
  [1e-37, 1.01],
  [-3, 79],
  [1.0000001192092896, 1e30],
  [1.0000001192092896, -1e30],
] as const;

it("powers are within 8 ulp wherever their result is", async () => {
  const backend = await ort({ device: "webgpu" });
  const builder = new GraphBuilder();
  const shape = [POWERS.length];
  const given = (name: string) => builder.input(name, { dtype: "f32", shape }, "batch");
  const graph = builder.finish({ z: builder.emitOne("Pow", [given("x"), given("y")], {}) });
  const [x, y] = [0, 1].map((place) => Float32Array.from(POWERS, (pair) => pair[place] as number)) as [
    Float32Array<ArrayBuffer>,
    Float32Array<ArrayBuffer>,
  ];
  try {
    const executable = await backend.compile(graph);
    const { z } = await executable.run({ x: tensor(x, shape), y: tensor(y, shape) });
    const want = x.map((base, index) => base ** (y[index] as number));
    const apart = [...want].map((power, index) => ulpDistance("f32", z?.data[index] as number, power));
    expect(apart.filter((ulp) => !(ulp <= 8))).toEqual([]);
  } finally {
    await backend.dispose();
  }
});
