// Small models that timm wrote with random weights: their logits, and their weights after one step of training.
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  float32,
  type HostTensor,
  isHostTensor,
  key,
  leavesOf,
  mixedBfloat16,
  type PrecisionChoice,
  predictor,
  type Tensor,
  tensor,
  trainer,
  zeros,
} from "@mp/core";
import { reduceMean, square } from "@mp/core/ops";
import { adamW, momentum, type Optimizer } from "@mp/core/optim";
import { reference } from "@mp/core/reference";
import { arrayOf } from "@mp/safetensors";
import { loadFile } from "@mp/safetensors/file";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { softmaxCrossEntropy } from "../index.js";
import { type LoadedTimm, loadTimm, saveTimm, timmModel } from "./index.js";

const fixtures = fileURLToPath(new URL("../../test/fixtures/timm", import.meta.url));
const names = (await readdir(fixtures)).sort();

const OPTIMIZERS = {
  sgd: momentum({ learningRate: 0.05, momentum: 0.9, weightDecay: 1e-2 }),
  adamW: adamW({ learningRate: 1e-2, epsilon: 1e-3, weightDecay: 0.1 }),
};
const optimizerOf = (name: string) =>
  name === "basic" || name === "average" ? OPTIMIZERS.sgd : OPTIMIZERS.adamW;

interface Expected
  extends Readonly<Record<"logits" | "features" | "trained", readonly (readonly number[])[]>> {
  readonly side: number;
  readonly loss: number;
}
const expectedOf = async (name: string): Promise<Expected> =>
  JSON.parse(await readFile(join(fixtures, name, "expected.json"), "utf8"));

/** The images of fixtures/timm-models.py. */
const imagesOf = ({ side }: Expected): HostTensor<"f32"> =>
  tensor(
    Float32Array.from({ length: 4 * side * side }, (_, at) => (((at * 7919 + 31) % 2003) - 1001) / 500),
    [4, 1, side, side],
  );

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-timm-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function outputOf(
  { model, params, modelState }: LoadedTimm,
  x: HostTensor,
): Promise<readonly number[]> {
  const backend = await reference();
  const serving = await predictor({
    backend,
    params,
    modelState,
    precision: float32(),
    model: (own, images: Tensor, context) => model.apply(own, images, context)[0],
  });
  return [...((await serving.predict(x)) as HostTensor<"f32">).data];
}

const difference = (got: readonly number[], want: readonly number[]): number => {
  expect(got.length).toBe(want.length);
  return Math.max(...got.map((value, at) => Math.abs(value - (want[at] as number))));
};

/** Leaves by timm's names. */
const leaves = (tree: object): ReadonlyMap<string, HostTensor> =>
  new Map(
    leavesOf<HostTensor>(tree, isHostTensor, "tree").map(([path, leaf]) => [path.replaceAll("/", "."), leaf]),
  );

const numbersOf = (leaf: HostTensor | undefined): readonly number[] =>
  Array.from((leaf as HostTensor<"f32">).data);

describe.each(names)("%s", (name) => {
  it("has timm's logits, and its features without a last layer", async () => {
    const want = await expectedOf(name);
    const loaded = await loadTimm(join(fixtures, name));
    expect(difference(await outputOf(loaded, imagesOf(want)), want.logits.flat())).toBeLessThan(1e-4);
    const bare = await loadTimm(join(fixtures, name), { num_classes: 0 });
    expect(Object.keys(bare.params)).not.toContain(loaded.model.classifier);
    expect(difference(await outputOf(bare, imagesOf(want)), want.features.flat())).toBeLessThan(1e-4);
  });

  it("has PyTorch's weights and statistics after one step, and reads what it has saved", async () => {
    const want = await expectedOf(name);
    const { model, params, modelState } = await loadTimm(join(fixtures, name));
    const training = await trainer({
      backend: await reference(),
      params,
      modelState,
      precision: float32(),
      optimizer: optimizerOf(name),
      loss: (own, { x, y }: { readonly x: Tensor; readonly y: Tensor }, context) => {
        const [logits, next] = model.apply(own, x, context);
        return { loss: softmaxCrossEntropy(logits, y), modelState: next };
      },
    });
    const x = imagesOf(want);
    const { loss } = await training.step({ x, y: tensor(Int32Array.of(1, 3, 0, 4)) });
    expect(Math.abs(loss - want.loss)).toBeLessThan(1e-4);
    const trained = {
      params: await training.parameters(),
      modelState: await training.modelState(),
    };
    const { tensors } = await loadFile(join(fixtures, name, "trained.safetensors"));
    const { tensors: before } = await loadFile(join(fixtures, name, "model.safetensors"));
    const got = new Map([...leaves(trained.params), ...leaves(trained.modelState)]);
    expect([...got.keys()].sort()).toEqual(Object.keys(tensors).sort());
    for (const [path, stored] of Object.entries(tensors)) {
      const numbers = [...arrayOf(stored, "F32")];
      expect(difference(numbersOf(got.get(path)), numbers), path).toBeLessThan(1e-4);
      if (path.endsWith("weight"))
        expect(difference([...arrayOf(before[path] as typeof stored, "F32")], numbers), path).toBeGreaterThan(
          1e-4,
        );
    }
    const target = join(folder, name);
    await saveTimm(target, model, { ...trained, normalize: { mean: [0.5], deviation: [0.25] } });
    const again = await loadTimm(target);
    expect([again.params, again.modelState]).toEqual([trained.params, trained.modelState]);
    expect(again.normalize).toEqual({ mean: [0.5], deviation: [0.25] });
    const logits = await outputOf(again, x);
    expect(difference(logits, want.trained.flat())).toBeLessThan(2e-4);
  });
});

const SMALL_RESNET = { channels: [64, 1, 1, 1], num_classes: 3 };
const SMALL_VIT = { depth: 1, num_classes: 3, embed_dim: 24, num_heads: 3 };

describe("a model by its name", () => {
  // Numbers of parameters in timm 1.0.31.
  it.each([
    ["resnet18", {}, 62, 11_689_512],
    ["resnet34", SMALL_RESNET, 110, 0],
    ["resnet50.a1_in1k", SMALL_RESNET, 161, 0],
    ["resnet101", SMALL_RESNET, 314, 0],
    ["resnet152", SMALL_RESNET, 467, 0],
    ["vit_tiny_patch16_224", {}, 152, 5_717_416],
    ["vit_small_patch16_384.augreg_in1k", SMALL_VIT, 20, 0],
    ["vit_base_patch16_224", { ...SMALL_VIT, mlp_ratio: 0.1 }, 20, 0],
  ] as const)("%s has as many tensors and numbers as in timm", (name, args, tensors, numbers) => {
    const model = timmModel(name, args);
    const params = [...leaves(model.init(key(1))).values()];
    expect(params.length).toBe(tensors);
    const count = params.reduce((sum, { data }) => sum + data.length, 0);
    if (numbers > 0) expect(count).toBe(numbers);
    expect(`${name}.`).toContain(`${model.architecture}.`);
  });

  it("begins as in timm: the last scales of blocks are 0, weights have timm's deviations", () => {
    const deviation = (leaf: HostTensor | undefined): number => {
      const data = numbersOf(leaf);
      return Math.sqrt(data.reduce((sum, one) => sum + one ** 2, 0) / data.length);
    };
    const params = leaves(
      timmModel("resnet18", { layers: [1, 1, 1, 1], channels: [64, 64, 64, 64] }).init(key(1)),
    );
    expect(numbersOf(params.get("layer2.0.bn2.weight"))).toEqual(Array(64).fill(0));
    expect(numbersOf(params.get("layer2.0.bn1.weight"))).toEqual(Array(64).fill(1));
    expect(deviation(params.get("layer2.0.conv1.weight"))).toBeCloseTo(Math.sqrt(2 / (64 * 9)), 3);
    expect(deviation(params.get("fc.weight"))).toBeCloseTo(1 / 8 / Math.sqrt(3), 2);
    const kept = leaves(timmModel("resnet18", { ...SMALL_RESNET, zero_init_last: false }).init(key(1)));
    expect(numbersOf(kept.get("layer2.0.bn2.weight"))).toEqual([1]);
    const vit = leaves(timmModel("vit_tiny_patch16_224", { depth: 1 }).init(key(1)));
    expect(deviation(vit.get("blocks.0.attn.qkv.weight"))).toBeCloseTo(0.02 * 0.88, 3);
    expect(deviation(vit.get("patch_embed.proj.bias"))).toBeLessThan(1 / 16 / Math.sqrt(3));
    expect(deviation(vit.get("cls_token"))).toBeLessThan(2e-6);
  });

  it.each([
    [
      "resnet50d",
      {},
      "MP_UNSUPPORTED",
      /name must be one of resnet18, .*vit_base_patch16_384, got "resnet50d"/,
    ],
    [7, {}, "MP_UNSUPPORTED", /got 7/],
    ["resnet18", { avg_down: true }, "MP_UNSUPPORTED", /avg_down must be false or null, got true/],
    ["resnet18", { depth: 3 }, "MP_UNSUPPORTED", /field depth, which is 3, is not known/],
    ["resnet18", { global_pool: "catavgmax" }, "MP_INVALID_ARGUMENT", /global_pool must be "avg" or "max"/],
    ["resnet18", { layers: [1, 1] }, "MP_INVALID_ARGUMENT", /layers must be a list of 4 integers/],
    ["resnet18", { num_classes: -1 }, "MP_INVALID_ARGUMENT", /num_classes must be an integer from 0/],
    ["vit_tiny_patch16_224", { reg_tokens: 4 }, "MP_UNSUPPORTED", /reg_tokens must be 0 or null, got 4/],
    [
      "vit_tiny_patch16_224",
      { img_size: [32, 40] },
      "MP_INVALID_ARGUMENT",
      /patch_size must divide img_size/,
    ],
    ["vit_tiny_patch16_224", { img_size: [32] }, "MP_INVALID_ARGUMENT", /img_size must be an integer, or/],
    ["vit_tiny_patch16_224", { num_heads: 5 }, "MP_INVALID_ARGUMENT", /num_heads must divide embed_dim/],
    ["vit_tiny_patch16_224", { drop_path_rate: 0.1 }, "MP_UNSUPPORTED", /drop_path_rate must be 0/],
  ] as const)("%s with %j is refused", (name, args, code, message) => {
    expect(() => timmModel(name as string, args)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });

  it("takes unknown arguments that the caller knows, and null for a default", () => {
    expect(
      timmModel("resnet18", { ...SMALL_RESNET, layers: null, oddity: 3, ignore: ["oddity"] }).classifier,
    ).toBe("fc");
  });
});

/** A run of a small model in a precision, on images of this shape. */
async function trained(
  { model, params, modelState }: LoadedTimm,
  options: { readonly precision?: PrecisionChoice; readonly optimizer?: Optimizer } = {},
) {
  return trainer({
    backend: await reference(),
    params,
    modelState,
    precision: options.precision ?? float32(),
    optimizer: options.optimizer ?? OPTIMIZERS.sgd,
    loss: (own, { x }: { readonly x: Tensor }, context) => {
      const [logits, next] = model.apply(own, x, context);
      return { loss: reduceMean(square(logits)), modelState: next };
    },
  });
}

describe("a model in training", () => {
  it.each([
    ["basic", "BatchNormalization", 15],
    ["token", "LayerNormalization", 5],
  ] as const)(
    "%s multiplies in bfloat16 and normalizes in float32, in scopes of timm's names",
    async (name, norm, norms) => {
      const training = await trained(await loadTimm(join(fixtures, name)), { precision: mixedBfloat16() });
      const { nodes } = training.explain({ x: imagesOf(await expectedOf(name)) });
      const dtypesOf = (...ops: readonly string[]): ReadonlySet<string> =>
        new Set(nodes.filter(({ op }) => ops.includes(op)).map(({ dtype }) => dtype));
      expect(dtypesOf("Conv", "MatMul", "Attention")).toEqual(new Set(["bf16"]));
      const last = name === "basic" ? "fc" : "head";
      expect(nodes.some(({ op, scope }) => op === "MatMul" && scope === last)).toBe(true);
      expect(nodes.filter(({ op }) => op === norm).length).toBe(norms);
      const { inputs } = training.graph({ x: imagesOf(await expectedOf(name)) });
      const kept = inputs.filter(({ name: input }) => /^state\/(master|model)\//.test(input));
      expect(new Set(kept.map(({ value }) => value.dtype))).toEqual(new Set(["f32"]));
    },
  );

  it("tells muon on which side the outputs are", async () => {
    for (const name of ["basic", "token"]) {
      const { model, params } = await loadTimm(join(fixtures, name));
      for (const [path, { shape }] of leaves(params))
        expect(model.outputAxis(path, { shape }), path).toBe(path.endsWith("weight") ? 0 : undefined);
    }
  });

  it.each([
    ["basic", [1, 3, 64, 64], /images must be \[batch, 1, height, width\], got \[1, 3, 64, 64\]/],
    ["token", [1, 1, 32, 48], /must have the img_size \[32, 32\], got \[1, 1, 32, 48\]/],
  ] as const)("%s refuses images %j", async (name, shape, message) => {
    const training = await trained(await loadTimm(join(fixtures, name)));
    await expect(training.step({ x: zeros(shape) })).rejects.toMatchObject({
      code: "MP_SHAPE_MISMATCH",
      message: expect.stringMatching(message),
    });
  });

  it("drops before the last layer, in training alone", async () => {
    const loaded = await loadTimm(join(fixtures, "average"), { drop_rate: 0.9 });
    const x = imagesOf(await expectedOf("average"));
    expect(await outputOf(loaded, x)).toEqual(await outputOf(await loadTimm(join(fixtures, "average")), x));
    const losses = [loaded, await loadTimm(join(fixtures, "average"))].map(
      async (one) => (await (await trained(one)).step({ x })).loss,
    );
    expect(await losses[0]).not.toBe(await losses[1]);
  });
});

describe("a folder of timm", () => {
  const original = join(fixtures, "basic");
  async function changed(config: object): Promise<string> {
    const target = await mkdtemp(join(folder, "changed-"));
    await cp(original, target, { recursive: true });
    const file = join(target, "config.json");
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), ...config }));
    return target;
  }

  it("gets a new last layer for another number of classes, and keeps the rest", async () => {
    const [own, other, third] = [
      await loadTimm(original),
      await loadTimm(original, { num_classes: 3 }),
      await loadTimm(original, { num_classes: 3, seed: 1 }),
    ].map(({ params }) => leaves(params));
    expect(other?.get("fc.weight")?.shape).toEqual([3, 8]);
    expect(other?.get("fc.weight")).not.toEqual(third?.get("fc.weight"));
    for (const [path, leaf] of own ?? []) if (!path.startsWith("fc.")) expect(other?.get(path)).toEqual(leaf);
  });

  it("says how its images were normalized", async () => {
    expect((await loadTimm(original)).normalize).toEqual({ mean: [0.449], deviation: [0.226] });
    expect(await loadTimm(await changed({ pretrained_cfg: null }))).not.toHaveProperty("normalize");
  });

  it.each([
    [{ architecture: "convnext_tiny" }, "MP_UNSUPPORTED", /must be one of .* got "convnext_tiny"/],
    [{ architecture: null }, "MP_INVALID_ARGUMENT", /architecture is missing/],
    [{ head: "odd" }, "MP_UNSUPPORTED", /field head, which is "odd", is not known/],
    [
      { model_args: { layers: [1, 1, 1, 1], in_chans: 1 } },
      "MP_CHECKPOINT_MISMATCH",
      /correct .*config.json, or pass/,
    ],
  ])("is refused with %j", async (config, code, message) => {
    await expect(loadTimm(await changed(config))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });
});
