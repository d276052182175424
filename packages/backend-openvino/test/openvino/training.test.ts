import { float32, momentum, trainer } from "@mp/core";
import { key, tensor } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { dense, meanSquaredError, relu, sequential } from "@mp/nn";
import { expect, it } from "vitest";
import { openvino } from "../../src/index.js";

const model = sequential(dense(3, 16), relu, dense(16, 1));
const x = tensor(
  Float32Array.from({ length: 24 }, (_, at) => Math.sin(at)),
  [8, 3],
);
const y = tensor(
  Float32Array.from({ length: 8 }, (_, at) => Math.cos(at)),
  [8, 1],
);

async function losses(backend: Awaited<ReturnType<typeof openvino>>): Promise<readonly number[]> {
  const training = await trainer({
    backend,
    params: model.init(key(1)),
    loss: (params, batch) => meanSquaredError(model.apply(params, batch.x), batch.y),
    optimizer: momentum({ learningRate: 0.1, momentum: 0.9 }),
    precision: float32(),
  });
  const found: number[] = [];
  for (let step = 0; step < 20; step++) found.push((await training.step({ x, y })).loss);
  await training.dispose();
  await backend.dispose();
  return found;
}

it("trains with the losses of the reference", async () => {
  const [own, wanted] = [await losses(await openvino()), await losses(await reference())];
  expect(wanted.at(-1)).toBeLessThan((wanted[0] ?? 0) * 0.8);
  for (const [at, loss] of own.entries()) expect(loss).toBeCloseTo(wanted[at] as number, 5);
});

it("leaves the event loop free", async () => {
  const backend = await openvino({ threads: 1 });
  const { GraphBuilder } = await import("@mp/graph");
  const builder = new GraphBuilder();
  const a = builder.input("a", { dtype: "f32", shape: [1024, 1024] }, "batch");
  let product = a;
  for (let turn = 0; turn < 8; turn++) product = builder.emitOne("MatMul", [product, a], {});
  const executable = await backend.compile(builder.finish({ product }));
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const input = { a: tensor(new Float32Array(1024 * 1024), [1024, 1024]) };
  for (let turn = 0; turn < 100 && ticks < 5; turn++) await executable.run(input);
  clearInterval(timer);
  expect(ticks).toBeGreaterThanOrEqual(5);
  await backend.dispose();
});

it("refuses a library of another version than the one that is asked for", async () => {
  await expect(openvino({ version: "2026.5.0" })).rejects.toMatchObject({
    code: "MP_BACKEND_UNAVAILABLE",
    message: expect.stringMatching(/version must be 2026\.5\.0, and .* is 2026\.4\.1; ask for/),
  });
  const backend = await openvino({ version: "2026.4.1" });
  expect(backend.manifest.engine.version).toBe("2026.4.1");
  await backend.dispose();
});
