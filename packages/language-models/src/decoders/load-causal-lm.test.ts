// Folders as Hugging Face publishes them, whole and broken.
import { cp, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type HostTensor, isHostTensor, key, leavesOf } from "@mp/core";
import { loadFile, saveFile } from "@mp/safetensors/file";
import { afterAll, beforeEach, expect, it } from "vitest";
import { type CausalLmParameters, causalLm, loadCausalLm, saveCausalLm } from "../index.js";

const fixtures = fileURLToPath(new URL("../../test/fixtures/transformers", import.meta.url));
const GROUPED = join(fixtures, "llama-grouped");
const TIED = join(fixtures, "llama-tied");

const made: string[] = [];
let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-causal-lm-"));
  made.push(folder);
});
afterAll(() => Promise.all(made.map((each) => rm(each, { recursive: true }))));

const leaves = (params: CausalLmParameters): readonly (readonly [string, HostTensor])[] =>
  leavesOf<HostTensor>(params, isHostTensor, "params");

type Stored = Awaited<ReturnType<typeof loadFile>>["tensors"];

async function rewritten(
  change: (tensors: Stored) => Stored,
  config: object = {},
  from = GROUPED,
): Promise<void> {
  await cp(from, folder, { recursive: true });
  const path = join(folder, "model.safetensors");
  await saveFile(path, change((await loadFile(path)).tensors));
  const file = join(folder, "config.json");
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), ...config }));
}

it("keeps the bits of bf16 in a base of bf16, from shards", async () => {
  const { params } = await loadCausalLm(TIED, { base: "bf16" });
  const shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
  const files = await Promise.all(shards.map((name) => loadFile(join(TIED, name))));
  const stored = new Map(files.flatMap(({ tensors }) => Object.entries(tensors)));
  expect(leaves(params).length).toBe(stored.size);
  for (const [path, { dtype, data }] of leaves(params)) {
    expect(dtype).toBe("bf16");
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    expect(bytes).toEqual(Uint8Array.from(stored.get(path.replaceAll("/", "."))?.data ?? []));
  }
});

it.each(["int8", "nf4"] as const)(
  "quantizes linear layers but the head to %s, the rest to bf16",
  async (base) => {
    const { model, params } = await loadCausalLm(GROUPED, { base });
    const { params: wide } = await loadCausalLm(GROUPED);
    const linear = model.linearLayers.filter(({ isHead }) => !isHead).map(({ path }) => `${path}/weight`);
    expect(linear.length).toBe(14);
    const codes = leaves(params).filter(([path]) => path.endsWith(`/${base}`));
    expect(codes.map(([path]) => path.slice(0, -base.length - 1))).toEqual(linear.toSorted());
    const others = leaves(params).filter(([path]) => !linear.some((each) => path.startsWith(each)));
    expect(new Set(others.map(([, { dtype }]) => dtype))).toEqual(new Set(["bf16"]));
    expect(others.length + linear.length).toBe(leaves(wide).length);
    const tied = leaves((await loadCausalLm(TIED, { base })).params);
    expect(tied.find(([path]) => path.includes("embed_tokens"))?.[1].dtype).toBe("bf16");
    await expect(saveCausalLm(folder, model, params)).rejects.toMatchObject({
      code: "MP_DTYPE_MISMATCH",
      message: expect.stringMatching(/got u8 at .*weight.*; merge of lora gives/),
    });
  },
);

it("reads what it has written, in both dtypes", async () => {
  for (const dtype of ["f32", "bf16"] as const) {
    const { model, params } = await loadCausalLm(GROUPED, { base: dtype });
    await saveCausalLm(folder, model, params);
    const again = await loadCausalLm(folder, { base: dtype });
    expect(again.params).toEqual(params);
    // Its file says float32.
    const name = dtype === "f32" ? "float32" : "bfloat16";
    expect(again.model.config).toEqual({ ...model.config, dtype: name });
  }
});

it.each([
  ["llama-grouped", "model.", ["layers.0.self_attn.rotary_emb.inv_freq"]],
  ["gpt2", "transformer.", ["h.0.attn.bias", "h.1.attn.masked_bias"]],
])(
  "leaves buffers and copies of a tied head of %s out, and takes files without the prefix",
  async (name, prefix, buffers) => {
    const from = join(fixtures, name);
    const { params } = await loadCausalLm(from);
    const { lm_head: _, ...rest } = params;
    for (const kept of ["", prefix]) {
      await rewritten(
        (tensors) => ({
          ...Object.fromEntries(
            Object.entries(tensors).map(([each, tensor]) => [each.replace(prefix, kept), tensor]),
          ),
          ...Object.fromEntries(
            [...buffers.map((each) => kept + each), "lm_head.weight"].map((each) => [
              each,
              Object.values(tensors)[0] as never,
            ]),
          ),
        }),
        { tie_word_embeddings: true },
        from,
      );
      expect((await loadCausalLm(folder)).params).toEqual(rest);
    }
  },
);

it("refuses weights of another model, with their names", async () => {
  await rewritten(({ "model.norm.weight": _, ...rest }) => rest);
  await expect(loadCausalLm(folder)).rejects.toMatchObject({
    code: "MP_CHECKPOINT_MISMATCH",
    message: expect.stringContaining('"model.norm.weight" is not in the file'),
  });
  await rewritten((tensors) => tensors, { intermediate_size: 81 });
  await expect(loadCausalLm(folder)).rejects.toMatchObject({ code: "MP_CHECKPOINT_MISMATCH" });
});

it.each([-1, 1])(
  "refuses a file with %i layers too many, with both files and a remedy that it has",
  async (more) => {
    await rewritten((tensors) => tensors, { num_hidden_layers: 2 - more });
    const [weights, config] = ["model.safetensors", "config.json"].map((name) => join(folder, name));
    const differs =
      more === 1 ? '"model.layers.1.*" of the file has no place' : '"model.layers.2.*" is not in the file';
    await expect(loadCausalLm(folder)).rejects.toMatchObject({
      code: "MP_CHECKPOINT_MISMATCH",
      message: expect.stringMatching(
        `^loadCausalLm: ${weights} does not fit the model: ${differs}.*; correct ${config} .a size such as num_hidden_layers`,
      ),
    });
    await expect(loadCausalLm(folder)).rejects.not.toThrow(/rename|allow:|loadSafetensors/);
  },
);

it.each([
  [
    "a file cut short",
    async () => truncate(join(folder, "model.safetensors"), 1000),
    "MP_PARSE",
    /^loadCausalLm: .*model.safetensors.*; download it again/,
  ],
  [
    "no weights",
    async () => rm(join(folder, "model.safetensors")),
    "MP_IO",
    /has no .*; download one of them; .*save_pretrained/,
  ],
  [
    "no configuration",
    async () => rm(join(folder, "config.json")),
    "MP_IO",
    /config.json: ENOENT; check the path, or download the file/,
  ],
  [
    "a broken one",
    async () => writeFile(join(folder, "config.json"), "{"),
    "MP_PARSE",
    /is not JSON; download it again/,
  ],
  [
    "a list",
    async () => writeFile(join(folder, "config.json"), "[]"),
    "MP_PARSE",
    /is not a JSON object; download it again/,
  ],
] as const)("refuses %s", async (_name, breakIt, code, text) => {
  await cp(GROUPED, folder, { recursive: true });
  await breakIt();
  await expect(loadCausalLm(folder)).rejects.toMatchObject({ code, message: expect.stringMatching(text) });
});

it("starts weights by initializer_range, norms by ones, biases by zeros", () => {
  const params = causalLm({ model_type: "llama", ...SMALL }).init(key(3));
  const tensors = new Map(leaves(params));
  const deviation = (path: string, among = tensors): number => {
    const data = among.get(path)?.data as Float32Array;
    return Math.sqrt(data.reduce((sum, each) => sum + each ** 2, 0) / data.length);
  };
  expect(deviation("model/embed_tokens/weight")).toBeCloseTo(0.1, 2);
  expect(deviation("model/layers/0/mlp/up_proj/weight")).toBeCloseTo(0.1, 2);
  expect(deviation("model/layers/0/mlp/up_proj/bias")).toBe(0);
  expect(new Set(tensors.get("model/norm/weight")?.data as Float32Array)).toEqual(new Set([1]));
  const small = { vocab_size: 100, n_embd: 32, n_head: 2, n_layer: 8, initializer_range: 0.1 };
  const gpt2 = new Map(leaves(causalLm({ model_type: "gpt2", ...small }).init(key(3))));
  expect(deviation("transformer/h/0/attn/c_attn/weight", gpt2)).toBeCloseTo(0.1, 2);
  expect(deviation("transformer/h/0/attn/c_proj/weight", gpt2)).toBeCloseTo(0.1 / 4, 2);
});

const SMALL = {
  vocab_size: 100,
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  initializer_range: 0.1,
  mlp_bias: true,
};
