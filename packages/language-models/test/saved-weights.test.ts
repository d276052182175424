// Adapters beside which peft saved weights of the base, with the logits that peft gives them.
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { float32, type Tensor, tensor } from "@mp/core";
import { reference } from "@mp/core/reference";
import { loadAdapter, lora, type NamedParameters, saveAdapter } from "@mp/nn/adapters";
import { loadFile, saveFile } from "@mp/safetensors/file";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { numbers, run } from "../../nn/test/run-layer.js";
import { generator, loadCausalLm, saveCausalLm } from "../src/index.js";

const fixtures = fileURLToPath(new URL("./fixtures/peft", import.meta.url));
const BASES = {
  untied: ["head", "both", "norms", "layers", "resized", "resized-both", "resized-head"],
  tied: ["tied-head", "tied-both", "tied-copy", "tied-own-head", "tied-stays", "tied-resized"],
  gpt2: ["gpt2-head", "gpt2-copy"],
} as const;
const CASES = Object.entries(BASES).flatMap(([base, names]) => names.map((name) => [name, base] as const));

interface Expected {
  readonly ids: readonly [readonly number[]];
  readonly logits: Readonly<Record<string, string>>;
}
let expected: Expected;
let directory = "";
beforeAll(async () => {
  expected = JSON.parse(await readFile(join(fixtures, "expected.json"), "utf8"));
  directory = await mkdtemp(join(tmpdir(), "mp-saved-weights-"));
});
afterAll(() => rm(directory, { recursive: true }));
const copy = async (name: string): Promise<string> => {
  const folder = await mkdtemp(join(directory, "copy-"));
  await cp(join(fixtures, name), folder, { recursive: true });
  return folder;
};

/** Traced trees, of types that the functions here know. */
type Traced = Readonly<Record<"base" | "adapters" | "merged" | "weights" | "ids", never>>;

/** The logits of peft, and of a function of ids. */
function expectPeft(name: string, apply: (all: Traced) => Tensor, trees: object): void {
  const [row] = expected.ids;
  const bytes = Buffer.from(expected.logits[name] as string, "base64");
  const want = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const got = numbers(
    run({ ...trees, ids: tensor(Int32Array.from(row), [1, row.length]) } as never, apply as never),
  );
  expect(got.length).toBe(want.length);
  for (const [at, value] of want.entries()) expect(got[at]).toBeCloseTo(value, 4);
}

const load = async (name: string, base: string) => {
  const { model, params } = await loadCausalLm(join(fixtures, base));
  return { model, params, ...(await loadAdapter(join(fixtures, name), model)) };
};

describe.each(CASES)("vllm-ascend#2034: %s, beside the base %s", (name, base) => {
  it("gives peft's logits, also saved and loaded again, merged, and as a model of its own", async () => {
    const { model, params, adapted, adapters } = await load(name, base);
    const apply =
      (own: typeof adapted) =>
      ({ base: weights, adapters: ours, ids }: Traced): Tensor =>
        own.apply(ours, weights, { ids });
    expectPeft(name, apply(adapted), { base: params, adapters });

    const folder = join(directory, name);
    await saveAdapter(folder, adapted, adapters);
    const again = await loadAdapter(folder, model);
    expectPeft(name, apply(again.adapted), { base: params, adapters: again.adapters });

    const merged = adapted.merge(adapters, params);
    expectPeft(name, ({ merged: weights, ids }) => model.apply(weights, { ids }), { merged });
    await saveCausalLm(folder, model, merged);
    const whole = await loadCausalLm(folder);
    expectPeft(name, ({ weights, ids }) => whole.model.apply(weights, { ids }), { weights: whole.params });
  });
});

it("generates the tokens that a file's larger embeddings have, and no others", async () => {
  for (const [name, base] of [
    ["resized", "untied"],
    ["tied-resized", "tied"],
  ] as const) {
    const { model, params, adapted, adapters } = await load(name, base);
    await using writer = await generator({
      backend: await reference(),
      precision: float32(),
      model,
      params,
      adapter: { adapted, adapters },
    });
    const tokens: number[] = [];
    for await (const token of writer.generate([12], { temperature: 0, maxTokens: 3 })) tokens.push(token);
    expect(tokens.length).toBe(3);
    expect(() => writer.generate([13])).toThrow(/tokens from 0 to 12, got 13/);
  }
});

it("starts as the base where init makes the adapters anew", async () => {
  const { model, params, adapted } = await load("both", "untied");
  const fresh = lora(model, { rank: 2, targets: ["q_proj"] }).init({ path: "0" } as never);
  const ids = tensor(Int32Array.of(1, 2), [1, 2]);
  const logits = (own: typeof adapted, adapters: NamedParameters) =>
    numbers(
      run({ params, adapters, ids }, (all) =>
        own.apply(all.adapters, all.params, { ids: all.ids as Tensor }),
      ),
    );
  expect(logits(adapted, fresh)).toEqual(
    numbers(run({ params, ids }, (all) => model.apply(all.params, { ids: all.ids as Tensor }))),
  );
});

describe("files that do not fit are refused:", () => {
  const refused = async (folder: string, base: string): Promise<unknown> => {
    const { model } = await loadCausalLm(join(fixtures, base));
    return loadAdapter(folder, model).then(
      () => expect.fail("was loaded"),
      (error: unknown) => error,
    );
  };
  const edit = async (folder: string, change: (tensors: Record<string, unknown>) => void): Promise<void> => {
    const path = join(folder, "adapter_model.safetensors");
    const tensors = { ...(await loadFile(path)).tensors };
    change(tensors);
    await saveFile(path, tensors);
  };

  it("a module of modules_to_save without a weight", async () => {
    const folder = await copy("norms");
    await edit(folder, (tensors) => delete tensors["base_model.model.model.norm.weight"]);
    expect(await refused(folder, "untied")).toMatchObject({
      code: "MP_CHECKPOINT_MISMATCH",
      message: expect.stringContaining(
        "model/norm/weight is in modules_to_save, and the file has no weight of it",
      ),
    });
  });

  it("more embeddings without as many rows of the head", async () => {
    const folder = await copy("resized");
    await edit(folder, (tensors) => delete tensors["base_model.model.lm_head.weight"]);
    expect(await refused(folder, "untied")).toMatchObject({
      code: "MP_CHECKPOINT_MISMATCH",
      message: expect.stringMatching(/embed_tokens\.weight": it is \[11, 8\], the file's .* \[13, 8\]/),
    });
  });

  it("adapters of the embeddings themselves", async () => {
    const folder = await copy("norms");
    await edit(folder, (tensors) => {
      tensors["base_model.model.model.embed_tokens.lora_embedding_A"] = {
        dtype: "F32",
        shape: [1],
        data: new Float32Array(1),
      };
    });
    expect(await refused(folder, "untied")).toMatchObject({
      code: "MP_UNSUPPORTED",
      message: expect.stringContaining("adapters of embeddings"),
    });
  });

  it("names of modules that are no list", async () => {
    const folder = await copy("norms");
    const path = join(folder, "adapter_config.json");
    await writeFile(
      path,
      JSON.stringify({ ...JSON.parse(await readFile(path, "utf8")), modules_to_save: "norm" }),
    );
    expect(await refused(folder, "untied")).toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  });
});
