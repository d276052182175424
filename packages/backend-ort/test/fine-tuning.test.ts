// What transformers and peft computed from the same files: logits, greedy tokens, losses of LoRA runs, adapters both ways.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { adamW, float32, mixedBfloat16, type PrecisionChoice, predictor, trainer } from "@mp/core";
import { type HostTensor, key, type Tensor, tensor } from "@mp/graph";
import { type CausalLm, type CausalLmInput, loadCausalLm, nextTokenLoss } from "@mp/language-models";
import { type Lora, loadAdapter, lora, type NamedParameters, saveAdapter } from "@mp/nn/adapters";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ort } from "../src/index.js";

const MODELS = ["llama-grouped", "llama-tied", "qwen2", "qwen3", "mistral", "gpt2"];
const [BATCH, TIME, STEPS] = [2, 16, 50];

interface Expected {
  readonly logits: string;
  readonly tuned: string;
  readonly greedy: readonly number[];
  readonly losses: Readonly<Record<"float32" | "mixed_bfloat16", readonly number[]>>;
}

const folderOf = (name: string): string =>
  fileURLToPath(new URL(`../../language-models/test/fixtures/transformers/${name}`, import.meta.url));
const expectedOf = async (name: string): Promise<Expected> =>
  JSON.parse(await readFile(join(folderOf(name), "expected.json"), "utf8"));
const floats = (text: string): Float32Array => {
  const bytes = Uint8Array.from(Buffer.from(text, "base64"));
  return new Float32Array(bytes.buffer);
};

/** murmur3's finalizer, from which the peers take their tokens. */
function hash32(seed: number, index: number): number {
  let value = (Math.imul(index, 0x9e3779b1) + Math.imul(seed, 0x85ebca77)) >>> 0;
  for (const [shift, factor] of [
    [16, 0x85ebca6b],
    [13, 0xc2b2ae35],
  ] as const)
    value = Math.imul(value ^ (value >>> shift), factor) >>> 0;
  return (value ^ (value >>> 16)) >>> 0;
}

interface Batch {
  readonly ids: HostTensor<"i32">;
  readonly labels: HostTensor<"i32">;
}

function batch(step: number, vocabulary: number): Batch {
  const ids = Int32Array.from({ length: BATCH * TIME }, (_, index) => hash32(step + 1, index) % vocabulary);
  const labels = ids.map((id, index) => (index % TIME < Math.floor(TIME / 3) ? -100 : id));
  return { ids: tensor(ids, [BATCH, TIME]), labels: tensor(labels, [BATCH, TIME]) };
}

const difference = (got: ArrayLike<number>, want: ArrayLike<number>): number => {
  expect(got.length).toBe(want.length);
  return Math.max(...Array.from(got, (value, at) => Math.abs(value - (want[at] as number))));
};

const vocabularyOf = ({ config }: CausalLm): number => config["vocab_size"] as number;

let backend: Awaited<ReturnType<typeof ort>>;
let directory = "";
beforeAll(async () => {
  backend = await ort();
  directory = await mkdtemp(join(tmpdir(), "mp-fine-tuning-"));
});
afterAll(async () => {
  await backend.dispose();
  await rm(directory, { recursive: true });
});

/** The logits of the peers' tokens. */
async function logitsOf(
  apply: (weights: never, input: CausalLmInput) => Tensor,
  params: unknown,
  ids: HostTensor<"i32">,
): Promise<Float32Array> {
  const model = (weights: unknown, input: CausalLmInput): Tensor => apply(weights as never, input);
  const serving = await predictor({ backend, model, params, precision: float32() });
  const { data } = (await serving.predict({ ids } as never)) as unknown as HostTensor<"f32">;
  return data;
}

async function tuned(
  adapted: Lora<CausalLmInput>,
  base: NamedParameters,
  adapters: NamedParameters,
  precision: PrecisionChoice,
) {
  return trainer({
    backend,
    params: { base, adapters },
    frozen: { base: true },
    precision,
    optimizer: adamW({ learningRate: 1e-3 }),
    loss: (weights, { ids, labels }: { readonly ids: Tensor; readonly labels: Tensor }, context) =>
      nextTokenLoss(adapted.apply(weights.adapters, weights.base, { ids }, context), labels),
  });
}

type Base = "bf16" | "int8" | "nf4";

/** A run beside the base as it is stored, or in f32. */
async function runOf(base: Base, isWide: boolean): ReturnType<typeof tuned> {
  const { model, params } = await loadCausalLm(folderOf("llama-tied"), { base });
  const { adapted, adapters } = await loadAdapter(join(folderOf("llama-tied"), "start"), model);
  const none = lora(model);
  return tuned(adapted, isWide ? none.merge(none.init(key(0)), params) : params, adapters, float32());
}

it.each([
  ["bf16", ["bf16"]],
  ["int8", ["bf16", "f32", "u8"]],
  ["nf4", ["bf16", "f32", "u8"]],
] as const)(
  "trains beside a base in %s with the losses of its numbers in float32, and resumes",
  async (base, dtypes) => {
    const [narrow, wide] = await Promise.all([runOf(base, false), runOf(base, true)]);
    const steps = Array.from({ length: 4 }, (_, step) => batch(step, 97));
    const [first, second, ...rest] = steps as [Batch, Batch, ...Batch[]];
    for (const each of [first, second]) expect(await narrow.step(each)).toEqual(await wide.step(each));
    const path = join(directory, "run.safetensors");
    await narrow.save(path);
    const resumed = await runOf(base, false);
    await resumed.load(path);
    for (const each of rest) expect(await resumed.step(each)).toEqual(await narrow.step(each));
    expect(await resumed.parameters()).toEqual(await narrow.parameters());
    const { inputs } = narrow.graph(first);
    const frozen = inputs.filter(({ name }) => name.startsWith("state/frozen/"));
    expect([...new Set(frozen.map(({ value }) => value.dtype))].sort()).toEqual(dtypes);
    const kept = inputs.filter(({ name }) => /^state\/(master|optimizer)\//.test(name));
    for (const { name } of kept) expect(name).toContain("/adapters/");
    expect(kept.filter(({ name }) => name.startsWith("state/optimizer/")).length).toBe(2 * 2 * 6);
  },
);

describe.each(MODELS)("%s", (name) => {
  it("has transformers' logits and greedy tokens", async () => {
    const want = await expectedOf(name);
    const { model, params } = await loadCausalLm(folderOf(name));
    const { ids } = batch(-1, vocabularyOf(model));
    const logits = await logitsOf((weights, input) => model.apply(weights, input), params, ids);
    expect(difference(logits, floats(want.logits))).toBeLessThan(1e-4);
    const length = want.greedy.length;
    const serving = await predictor({
      backend,
      params,
      precision: float32(),
      model: (weights, input: CausalLmInput) => model.apply(weights, input),
    });
    const tokens = Int32Array.from({ length }, (_, at) => (at < 4 ? (want.greedy[at] as number) : 0));
    const size = vocabularyOf(model);
    for (let at = 4; at < length; at++) {
      const { data } = (await serving.predict({
        ids: tensor(tokens, [1, length]),
      } as never)) as HostTensor<"f32">;
      const row = data.subarray((at - 1) * size, at * size);
      tokens[at] = row.indexOf(Math.max(...row));
    }
    expect([...tokens]).toEqual(want.greedy);
  });

  it.each([
    ["float32", float32(), 1e-4],
    ["mixed_bfloat16", mixedBfloat16(), 2e-2],
  ] as const)(
    "trains adapters with peft's losses in %s, with blocks computed again",
    async (kind, precision, tolerance) => {
      const want = await expectedOf(name);
      const { model, params: base } = await loadCausalLm(folderOf(name), { remat: "blocks" });
      const { adapted, adapters } = await loadAdapter(join(folderOf(name), "start"), model);
      const training = await tuned(adapted, base, adapters, precision);
      const losses: number[] = [];
      for (let step = 0; step < STEPS; step++)
        losses.push((await training.step(batch(step, vocabularyOf(model)))).loss);
      expect(difference(losses, want.losses[kind])).toBeLessThan(tolerance);
      expect(((await training.parameters()) as { base: unknown }).base).toEqual(base);
    },
  );

  it("reads peft's adapter, writes it again, and merges it", async () => {
    const want = await expectedOf(name);
    const { model, params: base } = await loadCausalLm(folderOf(name));
    const { ids } = batch(-1, vocabularyOf(model));
    const { adapted, adapters } = await loadAdapter(join(folderOf(name), "trained"), model);
    await saveAdapter(join(directory, name), adapted, adapters);
    const again = await loadAdapter(join(directory, name), model);
    expect(again.adapters).toEqual(adapters);
    expect(again.adapted.settings).toEqual(adapted.settings);
    const apply = (weights: { readonly base: never; readonly own: never }, input: CausalLmInput): Tensor =>
      again.adapted.apply(weights.own, weights.base, input);
    const got = await logitsOf(apply as never, { base, own: again.adapters }, ids);
    expect(difference(got, floats(want.tuned))).toBeLessThan(1e-5);
    const merged = adapted.merge(adapters, base);
    const plain = await logitsOf((weights, input) => model.apply(weights, input), merged, ids);
    expect(difference(plain, floats(want.tuned))).toBeLessThan(1e-5);
  });
});
