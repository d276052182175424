// Frozen parameters of other dtypes than f32: they stay as they were given, on the engine, in files and when read.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DType, type HostTensor, ones, type Tensor, tensor } from "@mp/graph";
import { add, cast, mul, reduceMean } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sgd } from "../../src/optim/sgd.js";
import { noMasterWeights } from "../../src/precision/master-weights.js";
import { float32, mixedBfloat16, type Precision } from "../../src/precision/presets.js";
import { predictor } from "../../src/predict/predictor.js";
import { loadParameters } from "../../src/train/checkpoint/load-parameters.js";
import { trainer } from "../../src/train/trainer.js";

const KINDS = ["f32", "f16", "bf16", "u8", "i32", "bool"] as const satisfies readonly DType[];

type Weights = { readonly base: Readonly<Record<string, HostTensor>>; readonly scale: HostTensor<"f32"> };

const params: Weights = {
  base: Object.fromEntries(KINDS.map((dtype) => [dtype, ones([2, 3], dtype)])),
  scale: tensor(Float32Array.of(1, 2, 3)),
};

interface Seen {
  readonly base: Readonly<Record<string, Tensor>>;
  readonly scale: Tensor;
}

const value = ({ base, scale }: Seen, x: Tensor): Tensor =>
  Object.values(base).reduce<Tensor>(
    (sum, leaf) => add(sum, mul(cast(leaf, "f32"), mul(scale, x))),
    mul(scale, 0),
  );

const run = async (precision: Precision, frozen: object = { base: true }) =>
  trainer({
    backend: await reference(),
    params,
    frozen: frozen as never,
    precision,
    optimizer: sgd({ learningRate: 0.1 }),
    loss: (weights: unknown, { x }: { readonly x: Tensor }) => reduceMean(value(weights as Seen, x)),
  });

const x = tensor(Float32Array.of(1, 2, 3));

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "mp-frozen-dtypes-"));
});
afterAll(() => rm(directory, { recursive: true }));

const PRECISIONS: readonly (readonly [string, Precision])[] = [
  ["float32", float32()],
  ["mixed", mixedBfloat16()],
  ["without masters", { ...float32(), masterWeights: noMasterWeights("bf16") }],
];

it.each(PRECISIONS)(
  "stay in their dtypes while others train, are saved and read: %s",
  async (name, precision) => {
    const training = await run(precision);
    await training.step({ x });
    const after = (await training.parameters()) as Weights;
    expect(after.base).toEqual(params.base);
    expect(after.scale).not.toEqual(params.scale);
    const path = join(directory, `${name}.safetensors`);
    await training.save(path);
    const resumed = await run(precision);
    await resumed.load(path);
    await Promise.all([training.step({ x }), resumed.step({ x })]);
    expect(await resumed.parameters()).toEqual(await training.parameters());
    expect((await loadParameters(path, { params })).params).toEqual(after);
    // A run that trains one more of them takes the others over in their dtypes.
    const { f32: _, ...others } = Object.fromEntries(KINDS.map((dtype) => [dtype, true]));
    const thawed = await run(precision, { base: others });
    await thawed.load(path);
    expect(await thawed.parameters()).toEqual(after);
  },
);

it("are served in their dtypes, and refused where they are trained", async () => {
  const serving = await predictor({
    backend: await reference(),
    params,
    precision: mixedBfloat16(),
    model: (weights: unknown, data: { readonly x: Tensor }) => value(weights as Seen, data.x),
  });
  const result = await serving.predict({ x });
  expect((result as HostTensor).data).toEqual(Float32Array.of(...[1, 4, 9, 1, 4, 9].map((each) => 6 * each)));
  await expect(run(float32(), { base: { f16: true } })).rejects.toThrow(
    /params at base\/bf16: parameters that are trained must be f32, got bf16; only frozen/,
  );
});
